"""Only where no byte of the request can have left is it proven that nothing ran."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from http_clients import ALL, Client, caught
from raw_servers import (
    answer,
    close,
    full,
    garbage,
    refused,
    reset,
    serving,
    silent,
)
from retry_guard_outcomes import NotExecuted, Unknown, classify

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
        error = caught(lambda: post(client, f"http://{address}/", limit=0.2))
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


def busy_httpx(module: ModuleType) -> Callable[[str], None]:
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
        pool.urlopen("POST", "/", pool_timeout=0.05)


def busy_aiohttp(url: str) -> None:
    async def post() -> None:
        limits = aiohttp.ClientTimeout(connect=0.05)
        connector = aiohttp.TCPConnector(limit=1)
        async with aiohttp.ClientSession(connector=connector, timeout=limits) as session:
            async with session.post(url):
                await session.post(url)

    asyncio.run(post())


@pytest.mark.parametrize(
    "post", [busy_httpx(httpx), busy_httpx(httpx2), busy_urllib3, busy_aiohttp]
)
def test_a_pool_without_a_free_connection_proves_that_nothing_ran(
    post: Callable[[str], None],
) -> None:
    endless = answer(200, body=b"x", length=10)

    def held(connection: socket.socket) -> None:
        endless(connection)
        silent(connection)

    with serving(held) as address:
        error = caught(lambda: post(f"http://{address}/"))
    assert type(error).__name__ in {"PoolTimeout", "EmptyPoolError", "ConnectionTimeoutError"}
    assert classify(error) == NotExecuted(error)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the clients leave the tunnel to the GC
@pytest.mark.parametrize(
    "post",
    [
        lambda url, proxy: httpx.Client(proxy=proxy).post(url),
        lambda url, proxy: httpx2.Client(proxy=proxy).post(url),
        lambda url, proxy: requests.post(url, proxies={"https": proxy}, timeout=5),
        lambda url, proxy: urllib3.ProxyManager(proxy, retries=False).request("POST", url),
        lambda url, proxy: aiohttp_through(url, proxy),
    ],
    ids=["httpx", "httpx2", "requests", "urllib3", "aiohttp"],
)
@pytest.mark.parametrize("proxy_is_there", [True, False])
def test_a_proxy_that_opens_no_tunnel_proves_that_nothing_ran(
    post: Callable[[str, str], Any], proxy_is_there: bool
) -> None:
    place = serving(answer(403)) if proxy_is_there else refused()
    with place as address:
        error = caught(lambda: post("https://example.invalid/", f"http://{address}"))
    assert classify(error) == NotExecuted(error)


def aiohttp_through(url: str, proxy: str) -> None:
    async def post() -> None:
        async with aiohttp.ClientSession() as session:
            await session.post(url, proxy=proxy)

    asyncio.run(post())


@every_client
@pytest.mark.parametrize(
    "ending",
    [reset, close, garbage, answer(201, length=99)],
    ids=["reset", "close", "garbage", "cut"],
)
def test_a_connection_that_ends_after_the_request_proves_nothing(
    client: Client, ending: Callable[[socket.socket], None]
) -> None:
    with serving(ending) as address:
        error = caught(lambda: post(client, f"http://{address}/"))
    assert classify(error) == Unknown(error)


@every_client
def test_an_answer_that_does_not_come_in_time_proves_nothing(client: Client) -> None:
    with serving(silent) as address:
        error = caught(lambda: post(client, f"http://{address}/", limit=0.2))
    assert classify(error) == Unknown(error)


@every_client
def test_a_body_that_cannot_be_written_in_time_proves_nothing(client: Client) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        host, port = listener.getsockname()[:2]
        body = {"text": "x" * 20_000_000}
        error = caught(lambda: client(Request("POST", f"http://{host}:{port}/", body, limit=0.3)))
    assert classify(error) == Unknown(error)


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
            raise first
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
    "post", [urllib3_retrying, requests_retrying], ids=["urllib3", "requests"]
)


@retrying
def test_the_last_of_several_tries_proves_nothing_of_the_first(post: Callable[[str], Reply]) -> None:
    """B90: the library itself sent it again; that the second connection was refused is no proof."""
    with serving(reset, last_closes=True) as address:
        error = caught(lambda: post(f"http://{address}/"))
    assert "refused" in str(error)
    assert classify(error) == Unknown(error)


@retrying
def test_several_tries_that_were_all_refused_prove_it(post: Callable[[str], Reply]) -> None:
    with refused() as address:
        error = caught(lambda: post(f"http://{address}/"))
    assert classify(error) == NotExecuted(error)


def test_tries_that_nobody_can_count_prove_nothing() -> None:
    """An error that came from another process has lost the frames that tell how often."""
    reason = urllib3.exceptions.NewConnectionError(
        urllib3.connection.HTTPConnection("h"), "refused"
    )
    bare = urllib3.exceptions.MaxRetryError(urllib3.HTTPConnectionPool("h"), "/", reason)
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


# --- helpers ---


@contextmanager
def plain_text() -> Generator[str]:
    """A server that speaks plain text where TLS is expected."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        import threading

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(100)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = listener.getsockname()[:2]
        yield f"{host}:{port}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@contextmanager
def tls_server(folder: Path) -> Generator[str]:
    """A server with a certificate that nobody has signed."""
    import threading

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        context.wrap_socket(connection, server_side=True).close()
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = listener.getsockname()[:2]
        yield f"{host}:{port}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(private + made.public_bytes(pem))
    return path


Place = AbstractContextManager[str]
