"""A proof about the last request says nothing of those before it."""

import asyncio
import socket
from collections.abc import Callable

import aiohttp
import httpx
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry

from http_clients import ALL, Client, Reply, Request, caught, post
from raw_servers import answer, refused, reset, serving, silent
from retry_guard_outcomes import NotExecuted, Unknown, classify

every_client = pytest.mark.parametrize("client", ALL.values(), ids=ALL)


@every_client
def test_a_failure_while_another_was_handled_proves_nothing(client: Client) -> None:
    """B41: the caller tried again after a time-out; the refusal is about the second try only."""

    def twice() -> None:
        with serving(silent) as first, refused() as second:
            try:
                post(client, f"http://{first}/", limit=0.2)
            except Exception:  # noqa: BLE001 - what a hasty tool does
                post(client, f"http://{second}/")

    error = caught(twice)
    assert classify(error) == Unknown(error)


@every_client
def test_a_failure_while_a_proven_one_was_handled_still_proves_it(client: Client) -> None:
    def twice() -> None:
        with refused() as address:
            try:
                post(client, f"http://{address}/")
            except Exception:  # noqa: BLE001 - what a hasty tool does
                post(client, f"http://{address}/")

    error = caught(twice)
    assert classify(error) == NotExecuted(error)


def in_turn(first: BaseException, second: BaseException) -> BaseException:
    def both() -> None:
        try:
            raise first  # noqa: TRY301 - so that it is being handled
        except BaseException:  # noqa: BLE001 - whatever it is
            raise second  # noqa: B904 - the context is what this is about

    return caught(both)


@pytest.mark.parametrize(
    "first", [TimeoutError(), ConnectionResetError(), KeyError("id"), ValueError("half done")]
)
def test_what_the_caller_handled_before_counts(first: Exception) -> None:
    error = in_turn(first, ConnectionRefusedError("refused"))
    assert classify(error) == Unknown(error)
    hidden = in_turn(first, ConnectionRefusedError("refused"))
    hidden.__suppress_context__ = True
    assert classify(hidden) == Unknown(hidden)


def test_a_cause_is_looked_at_however_deep_it_lies() -> None:
    error: BaseException = ConnectionResetError("the first of many")
    for _ in range(5_000):
        outer = ConnectionRefusedError("refused")
        outer.__cause__, error = error, outer
    assert classify(error) == Unknown(error)
    circle = ConnectionRefusedError("refused")
    circle.__cause__ = ConnectionRefusedError("refused")
    circle.__cause__.__context__ = circle
    assert classify(circle) == NotExecuted(circle)


# --- more than one request in one call ---


@every_client
@pytest.mark.parametrize("status", [303, 307])
def test_a_refusal_behind_a_redirect_proves_nothing(client: Client, status: int) -> None:
    with refused() as dead, serving(answer(status, f"Location: http://{dead}/")) as address:
        url = f"http://{address}/"
        error = caught(lambda: post(client, url, redirects=True))
    assert classify(error) == Unknown(error)


@every_client
def test_a_redirect_to_nowhere_proves_nothing(client: Client) -> None:
    with serving(answer(303, "Location: ftp://elsewhere/")) as address:
        url = f"http://{address}/"
        error = caught(lambda: post(client, url, redirects=True))
    assert classify(error) == Unknown(error)


def urllib3_retrying(url: str) -> Reply:
    retries = Retry(2, allowed_methods=None, backoff_factor=0)
    with urllib3.PoolManager(retries=retries) as pool:
        return pool.request("POST", url)


def requests_retrying(url: str) -> Reply:
    retries = Retry(2, allowed_methods=None, backoff_factor=0, raise_on_status=False)
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=retries))
        return session.post(url)


retrying = pytest.mark.parametrize(
    "send", [urllib3_retrying, requests_retrying], ids=["urllib3", "requests"]
)


@retrying
def test_the_last_of_several_tries_proves_nothing_of_the_first(
    send: Callable[[str], Reply],
) -> None:
    """B90: the library itself sent it again; that the second connection was refused is no proof."""
    with serving(reset, last_closes=True) as address:
        error = caught(lambda: send(f"http://{address}/"))
    assert "refused" in str(error)
    assert classify(error) == Unknown(error)


@retrying
def test_several_tries_that_were_all_refused_prove_it(send: Callable[[str], Reply]) -> None:
    with refused() as address:
        error = caught(lambda: send(f"http://{address}/"))
    assert classify(error) == NotExecuted(error)


def test_tries_that_nobody_can_count_prove_nothing() -> None:
    """An error that came from another process has lost the frames that tell how often."""
    reason = urllib3.exceptions.NewConnectionError(HTTPConnection("h"), "refused")
    bare = MaxRetryError(urllib3.HTTPConnectionPool("h"), "/", reason)
    assert classify(bare) == Unknown(bare)
    wrapped = requests.ConnectionError(bare)
    assert classify(wrapped) == Unknown(wrapped)


def test_what_aiohttp_sent_again_by_itself_proves_nothing() -> None:
    """B90: a PUT on a connection that was closed is repeated; only the repeat was refused."""

    def twice(connection: socket.socket) -> None:
        answer(200, "Connection: keep-alive")(connection)
        connection.recv(65536)

    async def put(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            async with session.put(url) as first:
                await first.read()
            await session.put(url)

    with serving(twice, last_closes=True) as address:
        error = caught(lambda: asyncio.run(put(f"http://{address}/")))
    assert isinstance(error, aiohttp.ClientConnectorError)
    assert classify(error) == Unknown(error)


def test_an_error_that_passed_through_a_retry_library_proves_nothing() -> None:
    """How often it tried is not told, only that it stands between."""
    library = {"__name__": "tenacity.retrying", "refuse": lambda: httpx.post("http://127.0.0.1:1/")}
    exec("def call(): return refuse()", library)  # noqa: S102 - a frame of that name
    error = caught(library["call"])  # type: ignore[arg-type]  # a function, by the line above
    assert isinstance(error, httpx.ConnectError)
    assert classify(error) == Unknown(error)


@every_client
def test_a_read_that_fails_after_the_write_proves_nothing(client: Client) -> None:
    """B42: created, then the follow-up read is refused; the write stands."""

    def create() -> None:
        with serving(answer(201)) as first, refused() as second:
            post(client, f"http://{first}/")
            client(Request("GET", f"http://{second}/"))

    error = caught(create)
    assert classify(error) == Unknown(error)
