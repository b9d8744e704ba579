"""Endpoints that are of no use: each is one clear line, and an error of its episode."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from retry_guard_sandbox.models import PROVIDERS, Access, EndpointError, ModelError, model_name
from retry_guard_sandbox.models._dialect import Usage
from retry_guard_sandbox.models._endpoint import Endpoint as Reached
from retry_guard_sandbox.models._errors import (
    EndpointDownError,
    EndpointRefusedError,
    EndpointRubbishError,
)
from sandbox_endpoint import Endpoint, chat_answer, listening, messages_answer, responses_answer

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
KEY = "sk-of-a-test"
GOOD: dict[str, dict[str, Any]] = {
    "openai": chat_answer((("finish", "{}"),)),
    "openai-responses": responses_answer((("finish", "{}"),)),
    "anthropic": messages_answer((("finish", "{}"),)),
}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS.values():
        monkeypatch.setenv(name, KEY)


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    with listening() as endpoint:
        yield endpoint


def asked(provider: str, access: Access, way: str = "x") -> object:
    """Ask as the loop does; return what is read."""
    dialect, endpoint = PROVIDERS[provider], Reached(provider, access)
    request = dialect.opening(way, ())
    request[dialect.history] = [*request[dialect.history], *dialect.told((), "Do nothing.")]
    try:
        return dialect.read(endpoint.complete(request))
    finally:
        endpoint.close()


def answering(status: int, content: bytes, kind: str = "application/json") -> Access:
    """Return access to an endpoint that gives this answer."""

    def handle(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=content, headers={"Content-Type": kind})

    http = httpx2.Client(transport=httpx2.MockTransport(handle))
    return Access(base_url="http://endpoint.invalid", retries=0, http=http)


@every_provider
@pytest.mark.parametrize("status", [400, 401, 409, 429, 500, 529])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps({"error": {"message": f"no {KEY}\nat all"}}).encode(), "no *** at all"),
        (b"<html>\n busy</html>", "<html> busy</html>"),
        (b'{"error": "busy"}', '{"error": "busy"}'),
        (b"[" * 100_000, "[" * 300),
        (b"", ""),
    ],
)
def test_a_status_that_is_an_error_is_one_line_without_the_key(
    provider: str, status: int, body: bytes, said: str
) -> None:
    with pytest.raises(EndpointRefusedError) as refused:
        asked(provider, answering(status, body))
    assert str(refused.value) == f"HTTP {status}: {said}"


@every_provider
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"welcome", b"[]", b"null", b"7", b"{}", b'"text"', b'{"a": NaN}', b"\xff\xfe"),
        *(b"[" * 100_000, b'{"choices": []}', b'{"content": 7}', b'{"output": [7]}'),
        b'{"choices": [{"message": {"tool_calls": [{"id": 7}]}}]}',
        b'{"choices": [{"message": {"tool_calls": "all"}}]}',
        b'{"output": [{"type": "function_call", "name": "finish", "arguments": {}}]}',
        b'{"status": "failed", "output": []}',
        b'{"content": [{"type": "tool_use", "id": "1", "name": "finish", "input": "{"}]}',
    ],
)
def test_what_no_model_answers_is_rubbish_in_one_line(provider: str, body: bytes) -> None:
    for kind in ("application/json", "text/html"):
        with pytest.raises(EndpointRubbishError) as rubbish:
            asked(provider, answering(200, body, kind))
        said = str(rubbish.value)
        assert said.startswith("its answer ")
        assert "\n" not in said
        assert len(said) < 300


@every_provider
def test_no_loss_of_any_part_of_an_answer_goes_unnoticed_or_unsaid(provider: str) -> None:
    """An answer that lacks a field is read without it where it may be missing, else rubbish."""
    whole = json.dumps(GOOD[provider])
    for end in range(0, len(whole), 7):
        with pytest.raises(EndpointRubbishError, match="no JSON"):
            asked(provider, answering(200, whole[:end].encode()))
    assert asked(provider, answering(200, whole.encode()))


@every_provider
def test_tokens_are_counted_also_those_that_a_cache_had(provider: str) -> None:
    reply: Any = asked(provider, answering(200, json.dumps(GOOD[provider]).encode()))
    assert reply.usage == Usage(100, 10)
    less = GOOD[provider] | {"usage": None}
    reply = asked(provider, answering(200, json.dumps(less).encode()))
    assert reply.usage is None
    negative = json.dumps(GOOD[provider]).replace('_tokens": 1', '_tokens": -1')
    with pytest.raises(EndpointRubbishError):
        asked(provider, answering(200, negative.encode()))


@every_provider
@pytest.mark.parametrize(
    ("way", "error", "said"),
    [
        ("silent", EndpointDownError, "no answer came in time"),
        ("torn", EndpointDownError, "Connection error"),
        ("limited", EndpointRubbishError, "cut short"),
        ("page", EndpointRubbishError, "no JSON"),
    ],
)
def test_a_real_connection_that_fails_is_one_line(
    provider: str, way: str, error: type[EndpointError], said: str, served: Endpoint
) -> None:
    timeout = 0.3 if way == "silent" else 20
    with pytest.raises(error) as raised:
        asked(provider, Access(base_url=served.url, timeout=timeout, retries=0), way)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@every_provider
def test_where_nobody_listens_it_is_down(provider: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(EndpointDownError, match="Connection"):
            asked(provider, Access(base_url=url, retries=0))


@every_provider
@pytest.mark.parametrize("url", ["nowhere", "http://[", "http://x:99999", "ftp://x", "http://x y"])
def test_an_address_that_is_none_is_one_line(provider: str, url: str) -> None:
    with pytest.raises(ModelError) as refused:
        asked(provider, Access(base_url=url, retries=0))
    assert "\n" not in str(refused.value)


@every_provider
def test_without_a_key_nothing_is_sent(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = KEYS[provider.partition("-")[0]]
    for value in (None, ""):
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
        with pytest.raises(ModelError, match=f"no {name}: set it"):
            Reached(provider, Access())


@every_provider
def test_a_key_that_no_header_can_carry_is_one_line_that_does_not_show_it(
    provider: str, monkeypatch: pytest.MonkeyPatch, served: Endpoint
) -> None:
    key = "sk\nInjected: yes"
    monkeypatch.setenv(KEYS[provider.partition("-")[0]], key)
    with pytest.raises(ModelError) as refused:
        asked(provider, Access(base_url=served.url, retries=0))
    assert "\n" not in str(refused.value)
    assert key not in str(refused.value)


@every_provider
def test_the_address_can_come_from_the_variable_of_the_sdk(
    provider: str, monkeypatch: pytest.MonkeyPatch, served: Endpoint
) -> None:
    served.secrets.clear()
    family = KEYS[provider.partition("-")[0]].removesuffix("_API_KEY")
    monkeypatch.setenv(f"{family}_BASE_URL", served.url)
    assert asked(provider, Access(retries=0))
    assert served.secrets == [KEY]


@every_provider
def test_a_request_that_the_sdk_sent_again_is_counted(provider: str) -> None:
    answers = iter([(429, b"{}"), (200, json.dumps(GOOD[provider]).encode())])

    def handle(_request: httpx2.Request) -> httpx2.Response:
        status, content = next(answers)
        return httpx2.Response(status, content=content, headers={"Retry-After-Ms": "1"})

    http = httpx2.Client(transport=httpx2.MockTransport(handle))
    reached = Reached(provider, Access(base_url="http://endpoint.invalid", retries=1, http=http))
    reached.complete(PROVIDERS[provider].opening("x", ()))
    reached.close()
    assert reached.repeated == 1


@pytest.mark.parametrize("text", ["gpt", "openai", "openai:", ":x", "OpenAI:x", "x:y", "openai:\n"])
def test_a_name_that_is_none_lists_the_providers(text: str) -> None:
    with pytest.raises(ModelError, match="give openai:NAME, openai-responses:NAME, anthropic:NAME"):
        model_name(text)
    assert str(model_name("openai:a/b:c")) == "openai:a/b:c"
