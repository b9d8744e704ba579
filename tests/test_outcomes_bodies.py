"""A body that was read is the value; one that was not is never taken for an empty one."""

import asyncio
import http.client
import urllib.request
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import pytest
import requests
import urllib3

from http_clients import ALL, Client, Request, post
from raw_servers import answer, serving
from retry_guard_outcomes import Done, NotExecuted, Unknown, classify, classify_body

every_client = pytest.mark.parametrize("client", ALL.values(), ids=ALL)


@every_client
@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"id": "ch_1"}', {"id": "ch_1"}),
        (b'\xef\xbb\xbf{"id": 1}', {"id": 1}),
        (b"null", None),
        (b"created", "created"),
        (b"", ""),
        (b"%PDF\xff\xfe", b"%PDF\xff\xfe"),
        (b"[" * 100_000, "[" * 100_000),
    ],
    ids=["object", "mark", "null", "text", "empty", "bytes", "deep"],
)
def test_the_body_of_an_answer_is_its_value(client: Client, body: bytes, value: object) -> None:
    with serving(answer(201, body=body)) as address:
        response = post(client, f"http://{address}/")
    assert classify_body(response) == Done(value)


@every_client
def test_what_is_not_done_keeps_the_response(client: Client) -> None:
    with serving(answer(422), answer(500)) as address:
        refused = post(client, f"http://{address}/")
        failed = post(client, f"http://{address}/")
    assert classify_body(refused) == NotExecuted(refused, rejected=True)
    assert classify_body(failed) == Unknown(failed)


def test_what_is_no_answer_is_its_own_value() -> None:
    assert classify_body({"id": 1}) == Done({"id": 1})


def asked(url: str) -> urllib.request.Request:
    return urllib.request.Request(url, data=b"{}", method="POST")  # noqa: S310 - http it is


def with_http_client(url: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=5)
    connection.request("POST", "/", b"{}")
    return connection.getresponse()


UNREAD: dict[str, Callable[[str], Any]] = {
    "requests": lambda url: requests.post(url, stream=True, timeout=5),
    "urllib3": lambda url: urllib3.request("POST", url, preload_content=False),
    "urllib": lambda url: urllib.request.urlopen(asked(url), timeout=5),  # noqa: S310 - (the same)
    "http.client": with_http_client,
}


@pytest.mark.parametrize("send", UNREAD.values(), ids=UNREAD)
def test_a_body_that_was_not_read_leaves_the_response(send: Callable[[str], Any]) -> None:
    with serving(answer(201, body=b'{"id": "ch_1"}')) as address:
        response = send(f"http://{address}/")
        assert classify_body(response) == Done(response)
        assert b"ch_1" in (response.content if hasattr(response, "content") else response.read())
        response.close()


def test_a_body_that_httpx_and_aiohttp_did_not_read_leaves_the_response() -> None:
    async def unread(url: str) -> None:
        async with aiohttp.ClientSession() as session, session.post(url) as response:
            assert classify_body(response) == Done(response)
            assert await response.json(content_type=None) == {"id": "ch_1"}
            assert classify_body(response) == Done({"id": "ch_1"})

    with serving(answer(201, body=b'{"id": "ch_1"}')) as address:
        with httpx.stream("POST", f"http://{address}/") as other:
            assert classify_body(other) == Done(other)
            other.read()
            assert classify_body(other) == Done({"id": "ch_1"})
        asyncio.run(unread(f"http://{address}/"))


@every_client
def test_a_mark_before_the_body_does_not_hide_what_failed(client: Client) -> None:
    with serving(answer(200, body=b'\xef\xbb\xbf{"errors": ["x"]}')) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == Unknown(response, hint="partial")
    assert classify_body(response) == Unknown(response, hint="partial")


@pytest.mark.parametrize("status", [301, 302, 303])
def test_urllib_hides_that_it_followed_a_redirect_with_a_read(status: int) -> None:
    with serving(answer(200)) as page, serving(answer(status, f"Location: http://{page}/")) as at:
        response = urllib.request.urlopen(asked(f"http://{at}/"), timeout=5)  # noqa: S310 - http
        assert classify(response) == Unknown(response)
        assert classify_body(response) == Unknown(response)
        response.close()


@every_client
def test_a_read_that_was_not_redirected_is_done(client: Client) -> None:
    with serving(answer(200)) as address:
        response = client(Request("GET", f"http://{address}/"))
    assert classify(response) == Done(response)


def test_a_read_over_a_bare_connection_is_done_since_that_follows_nothing() -> None:
    with serving(answer(200)) as address:
        connection = http.client.HTTPConnection(address, timeout=5)
        connection.request("GET", "/")
        response = connection.getresponse()
        assert classify(response) == Done(response)
        connection.close()
