"""Code that an error passed through may have sent the call before, or have run after its answer."""

import asyncio
import importlib.util
import sched
import xmlrpc.client
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
from urllib3.util import parse_url

from http_clients import ALL, Client, caught, post
from raw_servers import answer, close, refused, serving
from retry_guard_outcomes import NotExecuted, Unknown, classify

every_client = pytest.mark.parametrize("client", ALL.values(), ids=ALL)

PASSES_ON = "def call(send):\n    return send()\n"
SENDS_AGAIN = """
def call(send):
    for _ in range(2):
        try:
            return send()
        except Exception as caught:
            error = caught
    raise error
"""


def installed(folder: Path, source: str, name: str = "some_package") -> ModuleType:
    """Return a module whose file lies there."""
    folder.mkdir(parents=True)
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- code between the caller and the client ---


@every_client
@pytest.mark.parametrize("source", [PASSES_ON, SENDS_AGAIN])
@pytest.mark.parametrize("place", ["site-packages", "dist-packages"])
def test_a_package_that_is_not_known_may_have_sent_it_before(
    client: Client, source: str, place: str, tmp_path: Path
) -> None:
    module = installed(tmp_path / place, source)
    with serving(close, last_closes=True) as address:
        first = caught(lambda: post(client, f"http://{address}/"))
        error = caught(lambda: module.call(lambda: post(client, f"http://{address}/")))
    assert classify(first) == Unknown(first)
    assert classify(error) == Unknown(error)


@every_client
def test_code_of_the_caller_is_trusted_to_send_once(client: Client, tmp_path: Path) -> None:
    module = installed(tmp_path / "application", PASSES_ON)
    with refused() as address:
        error = caught(lambda: module.call(lambda: post(client, f"http://{address}/")))
    assert classify(error) == NotExecuted(error)


def test_an_installed_module_can_say_that_it_sends_once(tmp_path: Path) -> None:
    module = installed(tmp_path / "site-packages", "__sends_once__ = True\n" + PASSES_ON)
    with refused() as address:
        error = caught(lambda: module.call(lambda: httpx.post(f"http://{address}/")))
    assert classify(error) == NotExecuted(error)


@pytest.mark.parametrize("name", ["tenacity", "failsafe", "google", "backoff", "stamina"])
def test_a_package_that_is_known_to_send_again_is_one_wherever_it_lies(
    name: str, tmp_path: Path
) -> None:
    module = installed(tmp_path / "vendored", PASSES_ON, name)
    with refused() as address:
        error = caught(lambda: module.call(lambda: httpx.post(f"http://{address}/")))
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_that_passed_through_such_a_package_proves_nothing(
    status: int, tmp_path: Path
) -> None:
    module = installed(tmp_path / "site-packages", SENDS_AGAIN)
    with serving(close, answer(status)) as address:
        url = f"http://{address}/"
        error = caught(lambda: module.call(lambda: httpx.post(url).raise_for_status()))
    assert isinstance(error, httpx.HTTPStatusError)
    assert classify(error) == Unknown(error)


SDK = """
class APIStatusError(Exception):
    def __init__(self, response):
        super().__init__("refused")
        self.response = response

def charge(response):
    try:
        response.raise_for_status()
    except Exception as error:
        raise APIStatusError(response) from error
"""


@pytest.mark.parametrize(
    ("headers", "proves"),
    [
        ({"x-stainless-retry-count": "0"}, True),
        ({"x-stainless-retry-count": "1"}, False),
        ({}, False),
    ],
)
def test_an_installed_sdk_is_believed_if_it_counts(
    headers: dict[str, str], proves: bool, tmp_path: Path
) -> None:
    module = installed(tmp_path / "site-packages", SDK)
    with serving(answer(422)) as address:
        response = httpx.post(f"http://{address}/", headers=headers)
    error = caught(lambda: module.charge(response))
    assert classify(error) == (NotExecuted(error, rejected=True) if proves else Unknown(error))


def test_xmlrpc_sends_again_by_itself() -> None:
    with serving(close, last_closes=True) as address:
        error = caught(lambda: xmlrpc.client.ServerProxy(f"http://{address}/").charge(5))
    assert isinstance(error, ConnectionRefusedError)
    assert classify(error) == Unknown(error)


def test_a_module_of_the_standard_library_that_is_not_known_may_send_again_too() -> None:
    with refused() as address:
        plan = sched.scheduler()
        plan.enter(0, 1, httpx.post, (f"http://{address}/",))
        error = caught(plan.run)
    assert isinstance(error, httpx.ConnectError)
    assert classify(error) == Unknown(error)


# --- code that the client calls ---


@contextmanager
def answered_but_no_audit() -> Generator[tuple[str, str]]:
    with serving(answer(200)) as address, refused() as dead:
        yield f"http://{address}/", f"http://{dead}/audit"


def hooked_httpx(module: Any) -> Callable[[str, str], None]:  # noqa: ANN401 - either module
    def send(url: str, audit: str) -> None:
        def hook(_: object) -> None:
            module.post(audit)

        hooks = {"response": [hook]}
        with module.Client(event_hooks=hooks) as client:
            client.post(url)

    return send


def hooked_requests(url: str, audit: str) -> None:
    def hook(*_: object, **__: object) -> None:
        requests.post(audit, timeout=5)

    hooks: Any = {"response": hook}
    requests.post(url, hooks=hooks, timeout=5)


def hook_that_overrides(url: str, audit: str) -> None:
    """A hook with the name of the function that it calls is a hook all the same."""

    def request(*_: object, **__: object) -> None:
        requests.request("POST", audit, timeout=5)

    hooks: Any = {"response": request}
    requests.post(url, hooks=hooks, timeout=5)


def authorised_httpx(url: str, audit: str) -> None:
    class Auth(httpx.Auth):
        def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, Any]:
            yield request
            httpx.post(audit)

    httpx.post(url, auth=Auth())


def traced_aiohttp(url: str, audit: str) -> None:
    async def on_end(session: aiohttp.ClientSession, *_: object) -> None:
        async with aiohttp.ClientSession() as other:
            await other.post(audit)
        await session.close()

    async def send() -> None:
        traces = aiohttp.TraceConfig()
        traces.on_request_end.append(on_end)
        async with aiohttp.ClientSession(trace_configs=[traces]) as session:
            await session.post(url)

    asyncio.run(send())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # aiohttp leaves it to the GC
@pytest.mark.parametrize(
    "send",
    [
        hooked_httpx(httpx),
        hooked_httpx(httpx2),
        hooked_requests,
        hook_that_overrides,
        authorised_httpx,
        traced_aiohttp,
    ],
)
def test_a_hook_that_fails_after_the_answer_proves_nothing(
    send: Callable[[str, str], None],
) -> None:
    with answered_but_no_audit() as (url, audit):
        error = caught(lambda: send(url, audit))
    assert "ConnectError" in str(type(error)) or "Connect" in str(error)
    assert classify(error) == Unknown(error)


def test_a_hook_that_fails_while_a_lost_answer_is_handled_proves_nothing() -> None:
    async def send(url: str, audit: str) -> None:
        async def on_exception(*_: object) -> None:
            async with aiohttp.ClientSession() as other:
                await other.post(audit)

        traces = aiohttp.TraceConfig()
        traces.on_request_exception.append(on_exception)
        async with aiohttp.ClientSession(trace_configs=[traces]) as session:
            await session.post(url)

    with serving(close) as address, refused() as dead:
        error = caught(lambda: asyncio.run(send(f"http://{address}/", f"http://{dead}/")))
    assert isinstance(error, aiohttp.ClientConnectorError)
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize("audited", [True, False])
def test_a_hook_that_raises_for_the_status_speaks_of_its_own_answer_only(audited: bool) -> None:
    with serving(answer(200 if audited else 422)) as address, serving(answer(422)) as audit:

        def check(response: httpx.Response) -> None:
            (httpx.post(f"http://{audit}/") if audited else response).raise_for_status()

        with httpx.Client(event_hooks={"response": [check]}) as client:
            error = caught(lambda: client.post(f"http://{address}/"))
    expected = Unknown(error) if audited else NotExecuted(error, rejected=True)
    assert classify(error) == expected


def test_a_status_that_aiohttp_raised_itself_proves_what_it_means() -> None:
    async def send(url: str) -> None:
        async with aiohttp.ClientSession(raise_for_status=True) as session:
            await session.post(url)

    with serving(answer(422)) as address:
        error = caught(lambda: asyncio.run(send(f"http://{address}/")))
    assert classify(error) == NotExecuted(error, rejected=True)


def test_a_method_that_overrides_one_of_the_client_is_no_hook() -> None:
    class Transport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return super().handle_request(request)

    with refused() as address, httpx.Client(transport=Transport()) as client:
        error = caught(lambda: client.post(f"http://{address}/"))
    assert classify(error) == NotExecuted(error)


def test_a_method_with_another_name_that_the_client_calls_is_one() -> None:
    """It may have sent the call before it handed it on, or have done something else."""

    class Transport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Client().send(request)

    with refused() as address, httpx.Client(transport=Transport()) as client:
        error = caught(lambda: client.post(f"http://{address}/"))
    assert classify(error) == Unknown(error)


# --- what is refused as invalid, but after an answer ---

LOCATIONS = [
    "mailto:x",
    "https:foo",
    "data:,x",
    "app:callback",
    "ftp://x/",
    "http://",
    "http://[::1",
    "http://a b/",
    "http://x:99999/",
    "http://..x/",
]


def urllib3_with_retries(url: str) -> None:
    with urllib3.PoolManager(retries=3) as pool:
        pool.request("POST", url)


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("redirects", [True, False])
@every_client
def test_a_redirect_to_what_is_no_url_proves_nothing(
    client: Client, redirects: bool, location: str
) -> None:
    with serving(answer(302, f"Location: {location}")) as address:
        url = f"http://{address}/"
        try:
            outcome = post(client, url, redirects=redirects)
        except Exception as error:  # noqa: BLE001 - whatever the client makes of it
            outcome = error
    assert classify(outcome) == Unknown(outcome)


@pytest.mark.parametrize("location", ["http://a b/", "http://x:99999/"])
def test_the_same_holds_for_urllib3_as_it_comes(location: str) -> None:
    with serving(answer(302, f"Location: {location}")) as address:
        error = caught(lambda: urllib3_with_retries(f"http://{address}/"))
    assert isinstance(error, urllib3.exceptions.LocationValueError)
    assert classify(error) == Unknown(error)


def prepare(url: str) -> object:
    return requests.Request("POST", url).prepare()


@pytest.mark.parametrize("parse", [httpx.URL, httpx2.URL, prepare, parse_url])
def test_a_url_that_is_refused_outside_of_a_request_proves_nothing(
    parse: Callable[[str], object],
) -> None:
    """It may be one that the answer to the write named."""
    error = caught(lambda: parse("http://[::1"))
    assert classify(error) == Unknown(error)


def test_an_invalid_url_without_its_frames_proves_nothing() -> None:
    for error in (httpx.InvalidURL("x"), requests.exceptions.InvalidSchema("x")):
        assert classify(error) == Unknown(error)
