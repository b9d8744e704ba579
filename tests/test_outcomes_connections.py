"""Only where no byte of the request can have left is it proven that nothing ran."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3

from http_clients import ALL, Client, Request, caught, post
from raw_servers import Serve, answer, close, full, garbage, refused, reset, serving, silent
from retry_guard_outcomes import NotExecuted, Unknown, classify
from tls_servers import plain_text, tls_server

cut = answer(201, length=99)
every_client = pytest.mark.parametrize("client", ALL.values(), ids=ALL)


@every_client
def test_a_refused_connection_proves_that_nothing_ran(client: Client) -> None:
    with refused() as address:
        error = caught(lambda: post(client, f"http://{address}/"))
    assert classify(error) == NotExecuted(error)


@every_client
def test_a_name_that_is_not_found_proves_that_nothing_ran(client: Client) -> None:
    error = caught(lambda: post(client, "http://nowhere.invalid/"))
    assert classify(error) == NotExecuted(error)


@every_client
def test_a_connection_that_is_not_made_in_time_proves_that_nothing_ran(client: Client) -> None:
    with full() as address:
        error = caught(lambda: post(client, f"http://{address}/", limit=0.8))
    assert classify(error) == NotExecuted(error)


@every_client
def test_a_failed_tls_handshake_proves_that_nothing_ran(client: Client) -> None:
    with plain_text() as address:
        error = caught(lambda: post(client, f"https://{address}/"))
    assert classify(error) == NotExecuted(error)


@every_client
def test_a_certificate_that_is_not_trusted_proves_that_nothing_ran(
    client: Client, tmp_path: Path
) -> None:
    with tls_server(tmp_path) as address:
        error = caught(lambda: post(client, f"https://{address}/"))
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert classify(error) == NotExecuted(error)


@every_client
@pytest.mark.parametrize("url", ["ftp://host/", "http://[::1", "nothing"])
def test_a_url_that_cannot_be_asked_proves_that_nothing_ran(client: Client, url: str) -> None:
    if client is ALL["urllib3"] and url == "nothing":
        url = "http://"
    error = caught(lambda: post(client, url))
    assert classify(error) == NotExecuted(error)


def test_a_body_that_requests_cannot_encode_was_not_sent() -> None:
    error = caught(lambda: requests.post("http://127.0.0.1:1/", json=float("nan"), timeout=1))
    assert isinstance(error, requests.exceptions.InvalidJSONError)
    assert classify(error) == NotExecuted(error)


def test_an_answer_that_requests_cannot_decode_proves_nothing() -> None:
    with serving(answer(201, body=b"created, thanks")) as address:
        error = caught(lambda: requests.post(f"http://{address}/", timeout=5).json())
    assert isinstance(error, requests.exceptions.InvalidJSONError)
    assert classify(error) == Unknown(error)


def busy_httpx(module: Any) -> Callable[[str], None]:  # noqa: ANN401 - either module
    def post(url: str) -> None:
        with (
            module.Client(
                timeout=module.Timeout(5, pool=0.05), limits=module.Limits(max_connections=1)
            ) as client,
            client.stream("POST", url),
        ):
            client.post(url)

    return post


def busy_urllib3(url: str) -> None:
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    with urllib3.HTTPConnectionPool(host, int(port), maxsize=1, block=True) as pool:
        pool.urlopen("POST", "/", preload_content=False, retries=False)
        pool.urlopen("POST", "/", pool_timeout=1)


def busy_aiohttp(url: str) -> None:
    async def post() -> None:
        limits = aiohttp.ClientTimeout(connect=0.05)
        connector = aiohttp.TCPConnector(limit=1)
        session = aiohttp.ClientSession(connector=connector, timeout=limits)
        async with session, session.post(url):
            await session.post(url)

    asyncio.run(post())


@pytest.mark.parametrize(
    "send", [busy_httpx(httpx), busy_httpx(httpx2), busy_urllib3, busy_aiohttp]
)
def test_a_pool_without_a_free_connection_proves_that_nothing_ran(
    send: Callable[[str], None],
) -> None:
    endless = answer(200, body=b"x", length=10)

    def held(connection: socket.socket) -> None:
        endless(connection)
        silent(connection)

    with serving(held) as address:
        error = caught(lambda: send(f"http://{address}/"))
    assert type(error).__name__ in {"PoolTimeout", "EmptyPoolError", "ConnectionTimeoutError"}
    assert classify(error) == NotExecuted(error)


def httpx_through(url: str, proxy: str) -> None:
    with httpx.Client(proxy=proxy) as client:
        client.post(url)


def httpx2_through(url: str, proxy: str) -> None:
    with httpx2.Client(proxy=proxy) as client:
        client.post(url)


def requests_through(url: str, proxy: str) -> None:
    requests.post(url, proxies={"https": proxy}, timeout=5)


def urllib3_through(url: str, proxy: str) -> None:
    with urllib3.ProxyManager(proxy, retries=False) as pool:
        pool.request("POST", url)


def aiohttp_through(url: str, proxy: str) -> None:
    async def post() -> None:
        async with aiohttp.ClientSession() as session:
            await session.post(url, proxy=proxy)

    asyncio.run(post())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the clients leave the tunnel to the GC
@pytest.mark.parametrize(
    "send", [httpx_through, httpx2_through, requests_through, urllib3_through, aiohttp_through]
)
@pytest.mark.parametrize("proxy_is_there", [True, False])
def test_a_proxy_that_opens_no_tunnel_proves_that_nothing_ran(
    send: Callable[[str, str], None], proxy_is_there: bool
) -> None:
    place = serving(answer(403)) if proxy_is_there else refused()
    with place as address:
        error = caught(lambda: send("https://example.invalid/", f"http://{address}"))
    assert classify(error) == NotExecuted(error)


@every_client
@pytest.mark.parametrize(
    "ending",
    [reset, close, garbage, answer(201, length=99)],
    ids=["reset", "close", "garbage", "cut"],
)
def test_a_connection_that_ends_after_the_request_proves_nothing(
    client: Client, ending: Serve
) -> None:
    with serving(ending) as address:
        error = caught(lambda: post(client, f"http://{address}/"))
    assert classify(error) == Unknown(error)


@every_client
def test_an_answer_that_does_not_come_in_time_proves_nothing(client: Client) -> None:
    with serving(silent) as address:
        error = caught(lambda: post(client, f"http://{address}/", limit=0.8))
    assert classify(error) == Unknown(error)


@every_client
def test_a_body_that_cannot_be_written_in_time_proves_nothing(client: Client) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        host, port = listener.getsockname()[:2]
        body = {"text": "x" * 20_000_000}
        error = caught(lambda: client(Request("POST", f"http://{host}:{port}/", body, limit=0.8)))
    assert classify(error) == Unknown(error)
