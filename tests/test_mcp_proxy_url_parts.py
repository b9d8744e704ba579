"""Single parts of the way over HTTP, where a whole proxy would take too long to show it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx2
import pytest

from mcp_proxy_client import INITIALIZE, Json
from mcp_proxy_http_sites import (
    STREAM,
    Got,
    RawServer,
    Script,
    Step,
    done,
    event,
    response,
    said,
    usual,
)
from retry_guard_mcp_proxy import _http_learning, _http_rest, _http_wire
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http import HttpUpstream
from retry_guard_mcp_proxy._http_asking import Asking, Reply
from retry_guard_mcp_proxy._http_events import Tail
from retry_guard_mcp_proxy._messages import Message, encoded
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Ears

WAIT = 60.0
BEAT: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
CALL: Json = {"name": "post", "arguments": {}}


class Hears:
    """Who hears the server, and fails at each thing it says."""

    def __init__(self) -> None:
        self.heard, self.anew = list[object](), 0

    async def said(self, _line: bytes, message: Message | list[Message]) -> None:
        self.heard.append(message)
        raise ValueError("it fails at it")

    def renewed(self) -> None:
        self.anew += 1

    def ears(self) -> Ears:
        return Ears(
            said=self.said,
            asked=lambda _line, _message: None,
            refused=_nothing,
            ended=_nothing,
            again=tuple,
            anew=self.renewed,
        )


async def _nothing(*_: object) -> None:
    pass


async def begun(upstream: HttpUpstream, session: Session) -> None:
    """Open a session of the proxy's own."""
    session.opening, session.opened = INITIALIZE, encoded(BEAT)
    answer = await upstream.request(upstream.new_id(), "initialize", INITIALIZE)
    assert "result" in answer


async def test_what_fails_at_a_message_costs_no_answer_that_follows_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def script(got: Got) -> Sequence[Step]:
        return usual(got) or (STREAM, event(BEAT), event(done(got)))

    hears, session = Hears(), Session()
    with RawServer(script) as server:
        upstream = HttpUpstream(server.url, {}, session, hears.ears())
        async with asyncio.timeout(WAIT):
            await begun(upstream, session)
            answer = await upstream.request(upstream.new_id(), "tools/call", CALL)
            await upstream.close(Patience())
    assert answer["result"]["content"][0]["text"] == "done"
    assert hears.heard == [BEAT]
    assert "it fails at it" in capfd.readouterr().err


async def test_a_refusal_that_does_not_end_leaves_the_outcome_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_http_wire, "TOLD", 0.5)
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 100000\r\n\r\n"

    def script(got: Got) -> Sequence[Step]:
        drops: list[Step] = [b" ", 0.05]
        return usual(got) or (head, *drops * 1000)

    hears, session = Hears(), Session()
    with RawServer(script) as server:
        upstream = HttpUpstream(server.url, {}, session, hears.ears())
        async with asyncio.timeout(WAIT):
            with pytest.raises(ClosedError, match="did not end its refusal"):
                await upstream.request(upstream.new_id(), "tools/call", CALL)
            await upstream.close(Patience())
    assert len(server.said("tools/call")) == 1


SIGNS: dict[str, tuple[Script, int]] = {
    "an answer": (lambda got: (said(done(got)),), 0),
    "a reset": (lambda _: ("reset",), 1),
    "a stream without an answer": (lambda _: (STREAM,), 1),
    "a gateway": (lambda _: (response(b"", status="502 Bad Gateway"),), 1),
    "a refusal": (lambda _: (response(b"", status="429 Too Many Requests"),), 0),
    "a redirect": (lambda _: (response(b"", status="307 Temporary Redirect"),), 0),
    "an answer with a 500": (lambda got: (said(done(got), status="500 Oops"),), 0),
}


@pytest.mark.parametrize("case", SIGNS)
async def test_what_gets_no_answer_of_the_server_is_a_sign_that_it_may_be_another(
    case: str,
) -> None:
    script, signs = SIGNS[case]
    hears = Hears()
    with RawServer(lambda got: usual(got) or script(got)) as server:
        upstream = HttpUpstream(server.url, {}, Session(), hears.ears())
        async with asyncio.timeout(WAIT):
            await asyncio.gather(
                upstream.request(upstream.new_id(), "tools/call", CALL), return_exceptions=True
            )
            await upstream.close(Patience())
    assert hears.anew == signs


@pytest.mark.parametrize(("says", "waits"), [(None, 1.0), (0.0, 0.05), (5.0, 5.0), (9e9, 30.0)])
async def test_the_server_says_within_bounds_when_the_rest_is_asked_for(
    says: float | None, waits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    @asynccontextmanager
    async def events(_headers: Mapping[str, str], _tail: Tail) -> AsyncGenerator[httpx2.Response]:
        yield httpx2.Response(200, content=b"")

    async def hear(_: Heard) -> None:
        raise AssertionError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asking = Asking(line=b"{}", given=1, headers={}, hear=hear, resumes=True)
    assert await _http_rest.rest(events, asking, Tail("7", says)) is None
    assert slept == [waits] * 3


async def test_calls_that_wait_for_a_list_share_the_one_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_http_learning, "_LEARNING", 0.2)
    asked = list[bytes]()

    async def ask(line: bytes, _message: Message) -> Reply:
        asked.append(line)
        await asyncio.sleep(WAIT)
        raise AssertionError

    learning, call = _http_learning.Learning(ask), {"params": CALL}
    async with asyncio.timeout(WAIT):
        await asyncio.gather(*(learning.learn(call, lambda: False) for _ in range(50)))
        assert len(asked) == 1
        await learning.learn(call, lambda: False)
    assert len(asked) == 2
