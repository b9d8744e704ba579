"""A proxy that was not reached proves that nothing ran; one that hung up proves nothing."""

import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import requests
import urllib3

from http_clients import caught
from raw_servers import Serve, answer, close, garbage, refused, reset, serving
from retry_guard_outcomes import NotExecuted, Unknown, classify


def with_urllib3(url: str, proxy: str) -> None:
    with urllib3.ProxyManager(proxy, retries=False) as pool:
        pool.request("POST", url, body=b"{}")


def with_urllib3_retries(url: str, proxy: str) -> None:
    """Its default: a POST is not sent again after an error while reading."""
    with urllib3.ProxyManager(proxy) as pool:
        pool.request("POST", url, body=b"{}")


def with_requests(url: str, proxy: str) -> None:
    requests.post(url, json={}, proxies={"http": proxy, "https": proxy}, timeout=5)


def with_httpx(url: str, proxy: str) -> None:
    with httpx.Client(proxy=proxy) as client:
        client.post(url, json={})


def with_urllib(url: str, proxy: str) -> None:
    handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy})
    asked = urllib.request.Request(url, data=b"{}", method="POST")  # noqa: S310 - http(s) it is
    urllib.request.build_opener(handler).open(asked, timeout=5)


CLIENTS = {
    "urllib3": with_urllib3,
    "urllib3-retries": with_urllib3_retries,
    "requests": with_requests,
    "httpx": with_httpx,
    "urllib": with_urllib,
}
every_client = pytest.mark.parametrize("send", CLIENTS.values(), ids=CLIENTS)
every_scheme = pytest.mark.parametrize("scheme", ["http", "https"])


@every_client
@every_scheme
@pytest.mark.parametrize("ending", [close, reset, garbage])
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the clients leave the tunnel to the GC
def test_a_proxy_that_hung_up_proves_nothing(
    send: Callable[[str, str], None], scheme: str, ending: Serve
) -> None:
    with serving(ending) as proxy:
        error = caught(lambda: send(f"{scheme}://shop.invalid/pay", f"http://{proxy}"))
    assert classify(error) == Unknown(error)


@every_client
@every_scheme
def test_a_proxy_that_is_not_there_proves_that_nothing_ran(
    send: Callable[[str, str], None], scheme: str
) -> None:
    with refused() as proxy:
        error = caught(lambda: send(f"{scheme}://shop.invalid/pay", f"http://{proxy}"))
    assert classify(error) == NotExecuted(error)
    error = caught(lambda: send(f"{scheme}://shop.invalid/pay", "http://nowhere.invalid:1"))
    assert classify(error) == NotExecuted(error)


@every_client
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # (the same)
def test_a_tunnel_that_was_refused_proves_that_nothing_ran(
    send: Callable[[str, str], None],
) -> None:
    with serving(answer(403)) as proxy:
        error = caught(lambda: send("https://shop.invalid/pay", f"http://{proxy}"))
    assert classify(error) == NotExecuted(error)


LIBRARY = """
def cut(lost):
    raise lost

def urlopen(lost, wrapped):
    try:
        cut(lost)
    except OSError as error:
        raise wrapped("Unable to connect to proxy", error) from error
"""


@pytest.mark.parametrize("lost", [ConnectionResetError(), BrokenPipeError(), TimeoutError()])
def test_an_error_of_the_proxy_is_worth_what_its_cause_is(lost: OSError) -> None:
    """urllib3 wraps whatever ended a connection of which it has forgotten that it was made."""
    library: dict[str, Any] = {"__name__": "urllib3.connectionpool"}
    exec(LIBRARY, library)  # noqa: S102 - frames of that name
    error = caught(lambda: library["urlopen"](lost, urllib3.exceptions.ProxyError))
    assert classify(error) == Unknown(error)
    refusal = ConnectionRefusedError()
    error = caught(lambda: library["urlopen"](refusal, urllib3.exceptions.ProxyError))
    assert classify(error) == NotExecuted(error)
