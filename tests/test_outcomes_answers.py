"""What the answer of a server proves: by its status, by what it says, by what went before."""

import asyncio
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, Literal

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from http_clients import ALL, Client, Reply, Request, caught, outcome_of, post
from raw_servers import answer, refused, serving
from retry_guard_outcomes import Done, NotExecuted, Unknown, classify

every_client = pytest.mark.parametrize("client", ALL.values(), ids=ALL)

Hint = Literal["in_progress", "exists", "accepted", "partial"] | None
HINTS: dict[int, Hint] = {202: "accepted", 207: "partial"}
DONE = {*range(200, 300)} - {202, 207}
REJECTED = {400, 402, 422}
REFUSED = {
    401,
    403,
    404,
    405,
    406,
    407,
    410,
    411,
    412,
    413,
    414,
    415,
    416,
    417,
    421,
    423,
    426,
    428,
    429,
    431,
    451,
}


def expected(value: object, status: int) -> Done | NotExecuted | Unknown:
    if status in DONE:
        return Done(value)
    if status in REJECTED | REFUSED:
        return NotExecuted(value, rejected=status in REJECTED)
    return Unknown(value, hint=HINTS.get(status))


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_every_status_has_one_meaning(module: Any) -> None:  # noqa: ANN401 - either module
    for status in range(200, 600):
        response = module.Response(status, request=module.Request("POST", "http://a/"))
        assert classify(response) == expected(response, status)


STATUSES = [200, 201, 202, 204, 207, 302, 400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 503]


@every_client
@pytest.mark.parametrize("status", STATUSES)
def test_the_response_of_every_client_is_understood(client: Client, status: int) -> None:
    body = b"" if status == 204 else b"{}"
    with serving(answer(status, body=body)) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == expected(response, status)


@pytest.mark.parametrize("client", [ALL[name] for name in ALL if name != "urllib3"])
@pytest.mark.parametrize("status", [s for s in STATUSES if s >= 400])
def test_a_status_that_was_raised_means_the_same(client: Client, status: int) -> None:
    with serving(answer(status)) as address:
        response = post(client, f"http://{address}/")
    error = caught(response.raise_for_status)
    assert classify(error) == expected(error, status)


@pytest.mark.parametrize("status", [201, 303, 422, 500])
def test_the_standard_library_is_understood_too(status: int) -> None:
    with serving(answer(status)) as address:
        request = urllib.request.Request(f"http://{address}/", data=b"{}", method="POST")
        value = outcome_of(lambda: urllib.request.urlopen(request, timeout=5))  # noqa: S310 - http
        end = classify(value)
        assert end == expected(value, status)
        value.close()
    with refused() as address:
        request = urllib.request.Request(f"http://{address}/", data=b"{}", method="POST")
        error = caught(lambda: urllib.request.urlopen(request, timeout=5))  # noqa: S310 - http
    assert classify(error) == NotExecuted(error)


def test_a_bare_connection_of_the_standard_library_is_understood() -> None:
    with serving(answer(422)) as address:
        connection = http.client.HTTPConnection(address, timeout=5)
        connection.request("POST", "/", b"{}")
        response = connection.getresponse()
        assert classify(response) == NotExecuted(response, rejected=True)
        connection.close()


# --- conflicts: B80, B89 ---

IN_PROGRESS = [
    '{"error":{"type":"idempotency_error","code":"idempotency_key_in_use"}}',
    '{"title":"A request is outstanding for this Idempotency-Key"}',
    "The original request is still processing",
    '{"message": "Request with the same key is being processed"}',
    '{"code":"REQUEST_IN_PROGRESS"}',
    '{"error": "concurrent request"}',
]
EXISTS = [
    '{"code":"already_exists"}',
    '{"error":"Duplicate content"}',
    "A post with this text already exists.",
    '{"detail":"violates unique constraint"}',
    '{"message":"slug must be unique"}',
]


@every_client
@pytest.mark.parametrize(
    ("body", "hint"),
    [
        *((body, "in_progress") for body in IN_PROGRESS),
        *((body, "exists") for body in EXISTS),
        *((body, None) for body in ("{}", '{"error":"version conflict"}', "")),
    ],
)
def test_a_conflict_says_whether_it_runs_or_is_there(client: Client, body: str, hint: Hint) -> None:
    with serving(answer(409, body=body.encode())) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == Unknown(response, hint=hint)


def test_a_conflict_that_was_raised_keeps_what_it_said() -> None:
    with serving(answer(409, body=IN_PROGRESS[0].encode())) as address:
        for module in (httpx, httpx2, requests):
            response = module.post(f"http://{address}/")
            error = caught(response.raise_for_status)
            assert classify(error) == Unknown(error, hint="in_progress")


@every_client
@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"type":"idempotency_error","message":"Keys can only be used with the same"}}',
        '{"title":"Idempotency-Key is already used for a different request payload"}',
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_key_known_from_other_arguments_says_nothing_of_earlier_sends(
    client: Client, status: int, body: str
) -> None:
    """B79, B86: this call was refused, but an equal one would not have been, the first time."""
    with serving(answer(status, body=body.encode())) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == NotExecuted(response, rejected=False)


# --- part of it: B130 ---


@every_client
@pytest.mark.parametrize(
    "body",
    [
        {"errors": True, "items": []},
        {"errors": [{"message": "no such user"}], "data": {"send": None}},
        {"Failed": [{"Id": "2"}], "Successful": [{"Id": "1"}]},
        {"UnprocessedItems": {"table": [1]}},
        {"FailedRecordCount": 1},
        {"failures": [1]},
    ],
)
def test_a_success_that_lists_failures_is_partial(client: Client, body: dict[str, Any]) -> None:
    with serving(answer(200, body=json.dumps(body).encode())) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == Unknown(response, hint="partial")


@every_client
@pytest.mark.parametrize(
    "body",
    [
        {"errors": [], "failed": 0, "id": 1},
        {"errors": False},
        {"failed": "no"},
        {"data": {"errors": [1]}},
    ],
)
def test_a_success_that_lists_no_failures_is_done(client: Client, body: dict[str, Any]) -> None:
    with serving(answer(200, body=json.dumps(body).encode())) as address:
        response = post(client, f"http://{address}/")
    assert classify(response) == Done(response)


@pytest.mark.parametrize("body", [b"not JSON", b"{broken", b"\xff\xfe{", b"[1]", b""])
def test_a_body_that_is_not_an_object_hides_nothing(body: bytes) -> None:
    response = httpx.Response(200, content=body)
    assert classify(response) == Done(response)


def test_an_answer_that_is_not_read_yet_is_not_read_by_judging_it() -> None:
    with serving(answer(200, body=b'{"errors": true}')) as address:
        with httpx.stream("POST", f"http://{address}/") as response:
            assert classify(response) == Done(response)
            assert not response.is_stream_consumed
        with requests.post(f"http://{address}/", stream=True, timeout=5) as other:
            assert classify(other) == Done(other)
            assert not vars(other)["_content_consumed"]


# --- more than one request: B90 ---


@every_client
@pytest.mark.parametrize("status", [301, 302, 303])
def test_the_answer_to_the_read_after_a_redirect_is_not_that_of_the_write(
    client: Client, status: int
) -> None:
    """A login page also answers 200."""
    with serving(answer(200)) as page, serving(answer(status, f"Location: http://{page}/")) as at:
        response = post(client, f"http://{at}/", redirects=True)
    assert classify(response) == Unknown(response)


@every_client
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_the_write_is_done_when_that_succeeds(
    client: Client, status: int
) -> None:
    with serving(answer(201)) as there, serving(answer(status, f"Location: http://{there}/")) as at:
        response = post(client, f"http://{at}/", redirects=True)
    assert classify(response) == Done(response)


@every_client
def test_a_refusal_after_a_redirect_proves_nothing(client: Client) -> None:
    with serving(answer(422)) as there, serving(answer(307, f"Location: http://{there}/")) as at:
        response = post(client, f"http://{at}/", redirects=True)
    assert classify(response) == Unknown(response)


@every_client
def test_a_read_that_was_redirected_is_done(client: Client) -> None:
    with serving(answer(200)) as there, serving(answer(302, f"Location: http://{there}/")) as at:
        response = client(Request("GET", f"http://{at}/", redirects=True))
    assert classify(response) == Done(response)


def urllib3_retrying(url: str) -> Reply:
    retries = Retry(2, allowed_methods=None, status_forcelist=[503], backoff_factor=0)
    with urllib3.PoolManager(retries=retries) as pool:
        return pool.request("POST", url)


def requests_retrying(url: str) -> Reply:
    retries = Retry(2, allowed_methods=None, status_forcelist=[503], backoff_factor=0)
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=retries))
        return session.post(url)


@pytest.mark.parametrize("send", [urllib3_retrying, requests_retrying])
@pytest.mark.parametrize("final", [422, 201])
def test_a_refusal_of_a_later_try_proves_nothing_of_the_first(
    send: Callable[[str], Reply], final: int
) -> None:
    with serving(answer(503), answer(final)) as address:
        response = send(f"http://{address}/")
    assert classify(response) == (Done(response) if final == 201 else Unknown(response))


def test_tries_that_a_retry_adapter_gave_up_on_prove_nothing() -> None:
    with serving(answer(503)) as address:
        error = caught(lambda: requests_retrying(f"http://{address}/"))
    assert isinstance(error, requests.exceptions.RetryError)
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize(("count", "proves"), [("0", True), ("1", False)])
def test_an_sdk_that_counts_its_tries_is_believed(count: str, proves: bool) -> None:
    """The clients generated by Stainless (OpenAI's, Anthropic's) state it in a header."""

    class APIStatusError(Exception):
        response: httpx.Response

    error = APIStatusError("422")
    headers = {"x-stainless-retry-count": count}
    request = httpx.Request("POST", "http://a/", headers=headers)
    error.response = httpx.Response(422, request=request)
    assert classify(error) == (NotExecuted(error, rejected=True) if proves else Unknown(error))


@every_client
def test_a_follow_up_read_that_is_refused_proves_nothing(client: Client) -> None:
    """B42: the write was made; the answer 429 is about the read after it."""
    with serving(answer(429)) as address:
        response = client(Request("GET", f"http://{address}/"))
    assert classify(response) == Unknown(response)


def test_a_refusal_raised_while_a_time_out_was_handled_proves_nothing() -> None:
    def twice() -> None:
        try:
            raise TimeoutError  # noqa: TRY301 - so that it is being handled
        except TimeoutError:
            with serving(answer(422)) as address:
                httpx.post(f"http://{address}/").raise_for_status()

    error = caught(twice)
    assert classify(error) == Unknown(error)


def test_a_success_that_an_exception_carries_is_no_result() -> None:
    """B44: what aiohttp cannot read as JSON was answered all the same."""

    async def send(url: str) -> None:
        async with aiohttp.ClientSession() as session, session.post(url) as response:
            await response.json()

    with serving(answer(201, "Content-Type: text/plain")) as address:
        error = caught(lambda: asyncio.run(send(f"http://{address}/")))
    assert isinstance(error, aiohttp.ContentTypeError)
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize("status", [200, 201, 204])
def test_an_error_that_carries_a_success_is_no_result(status: int) -> None:
    response = httpx.Response(status, request=httpx.Request("POST", "http://a/"))
    error = httpx.HTTPStatusError("hook", request=response.request, response=response)
    assert classify(error) == Unknown(error)


def test_http_errors_without_an_answer_prove_nothing() -> None:
    assert isinstance(classify(requests.HTTPError("no response")), Unknown)
    assert isinstance(classify(urllib.error.URLError("no reason")), Unknown)
