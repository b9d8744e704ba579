"""Nobody who speaks to the server is held up by one that is not there, or does not read."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mcp_proxy_client import INITIALIZE, LONG, Given, Json, Proxy, Site, texts, wait_for
from retry_guard_mcp_proxy import _notes, _outgoing
from retry_guard_mcp_proxy._child import Patience, start
from retry_guard_mcp_proxy._desk import SAVING
from retry_guard_mcp_proxy._errors import ClosedError, DownError
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._outgoing import Outgoing
from retry_guard_mcp_proxy._restarts import LIMIT, WINDOW, Restarts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._stdio import OPENING, StdioUpstream
from retry_guard_mcp_proxy._upstream import Ears

HUNG = """
import json, os, sys
with open(sys.argv[1] + "/lives.txt", "a") as file:
    file.write(f"{os.getpid()}\\n")
first = len(open(sys.argv[1] + "/lives.txt").readlines()) == 1
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "die":
        sys.exit(3)
    if "id" in asked and (first or asked["method"] != "initialize"):
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""
"""Opens no session, but in its first life."""


def hung(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", HUNG, str(folder))


def without_a_server(site: Site, *options: str) -> Proxy:
    """Return a proxy whose server was started anew, and does not open its session."""
    proxy = site.proxy(*options, server=hung(site.folder))
    proxy.initialize()
    proxy.answer(proxy.ask("die"))
    return proxy


def test_a_guarded_call_is_answered_in_time_behind_a_request_that_waits_for_a_server(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    with without_a_server(site, "--answer-within", "1") as proxy:
        passing = proxy.ask("ping")
        wait_for(lambda: len(site.lives) == 2)
        assert proxy.called("post", {"text": "a"})["isError"]
        dropped = proxy.call("post", {"text": "b"})
        proxy.cancel(dropped)
        assert proxy.called("post", {"text": "c"})["isError"]
        heard = [json.loads(line).get("id") for line in proxy.raw]
        assert passing not in heard, f"it is refused after {OPENING} s, and that is later"
        assert dropped not in heard
        assert proxy.end() == 0


def test_the_proxy_ends_with_its_client_where_a_request_waits_for_a_server(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with without_a_server(site) as proxy:
        proxy.ask("ping")
        wait_for(lambda: len(site.lives) == 2)
        assert proxy.end() == 0
    assert len(site.lives) == 2


def test_nobody_waits_for_a_server_that_does_not_read(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with site.proxy("--answer-within", "1") as proxy:
        proxy.initialize()
        proxy.answer(proxy.ask("ping"))
        os.kill(site.lives[0], signal.SIGSTOP)
        proxy.call("echo", {"text": "x" * 1_000_000})
        assert texts(proxy.called("post", {"text": "a"})).endswith(".")
        assert proxy.end() == 0


def test_what_passed_while_the_server_did_not_read_is_there_whole_and_in_order(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    with site.proxy() as proxy:
        proxy.initialize()
        proxy.answer(proxy.ask("ping"))
        before = len(site.heard)
        os.kill(site.lives[0], signal.SIGSTOP)
        calls: list[Given] = []
        for number in range(10):
            calls.append(proxy.call("post", {"text": f"{number}" + "g" * 40_000}))
            proxy.tell("told", {"number": number, "more": "x" * 40_000})
        os.kill(site.lives[0], signal.SIGCONT)
        for given in calls:
            assert not proxy.result(given)["isError"]
    heard = [json.loads(line) for line in site.heard[before:]]
    told = [one["params"]["number"] for one in heard if one["method"] == "told"]
    assert told == list(range(10))
    assert len(site.effects) == 10


SLOW = """
import json, sys, time
for line in sys.stdin.buffer:
    if b'"big"' in line[:100]:
        time.sleep(30)
        continue
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""
"""Takes its time for each message that is big."""


def test_nobody_waits_for_a_server_that_reads_slowly_however_much_it_is_told(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    server = (sys.executable, "-c", SLOW)
    with site.proxy("--answer-within", "3", server=server) as proxy:
        proxy.initialize()
        for _ in range(16):
            proxy.tell("big", {"more": "x" * (4 << 20)})
        proxy.tell("big", {"more": "x" * (32 << 20)})
        refused = proxy.answer(proxy.ask("ping"))["error"]
        assert refused["code"] == -32000
        assert "does not read fast enough" in refused["message"]
        dropped = proxy.call("post", {"text": "a"})
        proxy.cancel(dropped)
        assert "still running" in texts(proxy.called("post", {"text": "b"}))
        assert proxy.end() == 0
    assert dropped not in [json.loads(line)["id"] for line in proxy.raw]


class Heard:
    """Ears, and what they were told."""

    def __init__(self) -> None:
        self.refused: list[tuple[object, str]] = []
        self.said: list[Json] = []
        self.asked: list[object] = []
        self.ended: list[str] = []

    def ears(self) -> Ears:
        return Ears(
            said=self._said, asked=self._asked, refused=self._refused, ended=self._ended, again=list
        )

    async def _said(self, _: bytes, message: Message | list[Message]) -> None:
        assert isinstance(message, dict)
        self.said.append(message)

    def _asked(self, line: bytes, message: Message) -> None:
        assert line
        self.asked.append(message["id"])

    async def _refused(self, message: Message | list[Message], error: Exception) -> None:
        assert isinstance(message, dict)
        self.refused.append((message["id"], str(error)))

    async def _ended(self, how: str) -> None:
        self.ended.append(how)


def ask(given: object, method: str = "ping", params: Json | None = None) -> tuple[bytes, Message]:
    message = {"jsonrpc": "2.0", "id": given, "method": method, "params": params or {}}
    return json.dumps(message).encode() + b"\n", message


async def until(condition: Any) -> None:  # noqa: ANN401 - a function without arguments
    async with asyncio.timeout(LONG):
        while not condition():  # noqa: ASYNC110 - processes have no event
            await asyncio.sleep(0.01)


MUTE = 'echo $$ >> "$0/lives.txt"; while read -r line; do :; done'
"""Begins at once, and opens no session."""


async def test_all_that_waits_for_a_server_ends_with_one_try_and_tries_are_limited(
    tmp_path: Path,
) -> None:
    heard, session = Heard(), Session()
    session.opening = INITIALIZE
    upstream = StdioUpstream(("sh", "-c", MUTE, str(tmp_path)), session, heard.ears(), opening=1.5)
    (tmp_path / "lives.txt").write_text("0\n")
    await upstream.open(start((sys.executable, "-c", "pass")))
    await until(lambda: heard.ended)
    site = Site(tmp_path)
    for number in range(LIMIT):
        for given in range(3):
            await upstream.pass_on(*ask((number, given)))
        await until(lambda number=number: len(heard.refused) == 3 * (number + 1))
        assert "it did not answer" in heard.refused[-1][1]
        assert len(site.lives) == number + 2
    await upstream.pass_on(*ask("last"))
    await until(lambda: heard.refused[-1][0] == "last")
    assert f"the server ended {LIMIT} times" in heard.refused[-1][1]
    assert len(site.lives) == LIMIT + 1
    assert [given for given, _ in heard.refused[:3]] == [(0, 0), (0, 1), (0, 2)]
    await upstream.close(Patience())


T = TypeVar("T")
MUCH = "x" * (1 << 20)
"""More than lies in a pipe."""


class Deaf:
    """A server that reads nothing, and a request to it that fills its pipe."""

    def __init__(self) -> None:
        self.heard = Heard()
        self.upstream = StdioUpstream((), Session(), self.heard.ears())
        self._process = start((sys.executable, "-c", "import time; time.sleep(600)"))

    async def full(self) -> asyncio.Task[Message]:
        await self.upstream.open(self._process)
        asking = self.upstream.request(self.upstream.new_id(), "first", {"more": MUCH})
        return await begun(asking)

    async def end(self) -> None:
        self._process.kill()
        await until(lambda: self.heard.ended)
        await self.upstream.close(Patience())


async def begun(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Return a task that has come as far as it can without the server."""
    task = asyncio.create_task(work)
    for _ in range(50):
        await asyncio.sleep(0)
    return task


async def test_a_request_of_which_nothing_was_written_when_the_server_ends_was_not_sent() -> None:
    deaf, gone = Deaf(), list[str]()
    first = await deaf.full()
    named = deaf.upstream.new_id()
    goes = partial(gone.append, "it goes")
    second = await begun(deaf.upstream.request(named, "second", {}, goes=goes))
    await deaf.end()
    with pytest.raises(ClosedError):
        await first
    with pytest.raises(DownError, match="nothing was sent"):
        await second
    assert gone == []


async def test_what_passes_is_answered_once_where_nothing_of_it_was_written() -> None:
    deaf = Deaf()
    first = await deaf.full()
    await begun(deaf.upstream.pass_on(*ask("passing")))
    await deaf.end()
    with pytest.raises(ClosedError):
        await first
    assert deaf.heard.asked == ["passing"]
    assert len(deaf.heard.ended) == 1
    assert deaf.heard.refused == []


def test_starts_that_take_long_to_fail_count_for_so_much_longer() -> None:
    now = [0.0]
    restarts = Restarts(lambda: now[0])
    for _ in range(LIMIT):
        restarts.next()
        now[0] += WINDOW + 1
        restarts.failed("silence")
    with pytest.raises(DownError, match="silence"):
        restarts.next()
    now[0] += 10 * WINDOW
    assert restarts.next() >= 0


# How much may wait

SAID: Sequence[bytes] = [b"%d" % number * 10 for number in range(5)]


class Slow:
    """Who takes a message when told to."""

    def __init__(self) -> None:
        self.may = asyncio.Semaphore(0)
        self.took: list[bytes] = []
        self.refused: list[object] = []
        self.outgoing = Outgoing(self._tell, self._refused)

    async def _tell(self, line: bytes, _: Message | list[Message]) -> None:
        await self.may.acquire()
        self.took.append(line)

    async def _refused(self, message: Message | list[Message], error: Exception) -> None:
        assert isinstance(error, DownError)
        self.refused.append(message)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    monkeypatch.setattr(_outgoing, "BOUND", 25)
    monkeypatch.setattr(_outgoing, "LAST", 45)
    return Slow()


@pytest.mark.parametrize("batch", [False, True])
async def test_a_request_beyond_the_bound_is_refused_at_once_until_the_server_takes_something(
    batch: bool, slow: Slow
) -> None:
    asked = ask("a")[1]
    message: Message | list[Message] = [{"method": "told"}, asked] if batch else asked
    for line in SAID[:2]:
        await begun(slow.outgoing.put(line, message))
    assert (await begun(slow.outgoing.put(SAID[2], message))).done()
    assert slow.refused == [message]
    slow.may.release()
    await until(lambda: slow.took == SAID[:1])
    await begun(slow.outgoing.put(SAID[3], message))
    slow.may.release()
    slow.may.release()
    assert await slow.outgoing.settled(Patience(ends=LONG))
    assert (slow.took, slow.refused) == ([SAID[0], SAID[1], SAID[3]], [message])
    await slow.outgoing.close()


async def test_what_wants_no_answer_has_more_room_and_is_dropped_beyond_it_with_one_line(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(_outgoing, "note", noted.append)
    said: list[Message | list[Message]]
    said = [{"method": "told"}, {"id": 1, "result": {}}, {"id": 2, "error": {}}, []]
    for line, message in zip(SAID[:4], said, strict=True):
        await begun(slow.outgoing.put(line, message))
    for message in said:
        assert (await begun(slow.outgoing.put(SAID[4], message))).done()
    assert len(noted) == 1
    assert "40 bytes wait" in noted[0]
    slow.may.release()
    await until(lambda: slow.took == SAID[:1])
    for _ in range(2):
        await begun(slow.outgoing.put(SAID[4], said[0]))
    assert len(noted) == 2
    for _ in range(4):
        slow.may.release()
    assert await slow.outgoing.settled(Patience(ends=LONG))
    assert (slow.took, slow.refused) == (SAID, [])
    await slow.outgoing.close()


async def test_a_message_that_is_larger_than_all_that_may_wait_passes_where_nothing_waits(
    slow: Slow,
) -> None:
    large = b"x" * 100
    await begun(slow.outgoing.put(large, ask("a")[1]))
    assert not await slow.outgoing.settled(Patience(ends=0.1))
    slow.may.release()
    assert await slow.outgoing.settled(Patience(ends=LONG))
    assert (slow.took, slow.refused) == ([large], [])
    await slow.outgoing.close()


async def test_a_message_that_the_proxy_fails_at_costs_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(_outgoing, "note", noted.append)
    told: list[bytes] = []
    refused: list[object] = []

    async def tell(line: bytes, _: object) -> None:
        if line == b"bad":
            raise RuntimeError
        told.append(line)

    async def refuse(message: object, _: Exception) -> None:
        refused.append(message)

    outgoing = Outgoing(tell, refuse)
    for line in (b"a", b"bad", b"b"):
        await outgoing.put(line, {"id": line.decode()})
    assert await outgoing.settled(Patience(ends=LONG))
    assert (told, refused) == ([b"a", b"b"], [{"id": "bad"}])
    assert "RuntimeError" in noted[0]
    await outgoing.close()


ODD = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "tools/call":
        with open(sys.argv[1] + "/effects.jsonl", "a") as file:
            print(json.dumps({}), file=file)
        result = '{"content":[{"type":"text","text":"done"}],"structuredContent":{"a":[NaN,1e999]}}'
        given = json.dumps(asked["id"])
        print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (given, result), flush=True)
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""


def test_a_result_that_json_cannot_hold_is_told_with_the_warning_that_it_was_not_kept(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    with site.proxy(server=(sys.executable, "-c", ODD, str(tmp_path))) as proxy:
        proxy.initialize()
        first, second = (proxy.called("post", {"text": "a"}) for _ in range(2))
    assert texts(first) == "done"
    assert first["structuredContent"] == {"a": [None, None]}
    assert "could not be kept" in first["_meta"]["retry-guard/outcome"]["warning"]
    assert "could not be kept" in texts(second)
    assert not second["isError"]
    assert len(site.effects) == 1


def test_a_call_that_is_cancelled_in_the_same_breath_holds_up_no_end(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with site.proxy() as proxy:
        proxy.initialize()
        call = {"name": "post", "arguments": {"text": "a"}}
        for given in range(20):
            line, _ = ask(f"c{given}", "tools/call", call)
            cancels = {"method": "notifications/cancelled", "params": {"requestId": f"c{given}"}}
            proxy.write(line + json.dumps({"jsonrpc": "2.0", **cancels}).encode() + b"\n")
        assert proxy.result(proxy.ask("ping")) == {}
        began = time.monotonic()
        assert proxy.end() == 0
        assert time.monotonic() - began < SAVING, "the time for which an end can be held up"
    assert len(site.effects) <= 1


def test_what_fails_in_the_course_of_things_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(_notes, "note", told.append)
    log = logging.getLogger("retry_guard.there")
    log.propagate = False
    log.addHandler(_notes.Log())
    try:
        raise TimeoutError("no answer\nof any kind")  # noqa: TRY301 - it is to be logged
    except TimeoutError:
        log.warning("post: reading back failed", exc_info=True)
        log.exception("the proxy failed")
    assert told[0] == "post: reading back failed: TimeoutError: no answer\\nof any kind"
    assert told[1].startswith("the proxy failed\nTraceback")


def test_a_request_that_was_cancelled_gets_no_answer_when_the_server_ends(tmp_path: Path) -> None:
    with Site(tmp_path).proxy() as proxy:
        proxy.initialize()
        proxy.cancel(proxy.ask("silence"))
        waits = proxy.ask("silence")
        proxy.tell("die")
        proxy.answer(waits)
        assert proxy.silent()


async def test_what_can_be_told_at_once_overtakes_nothing_that_waits() -> None:
    told: list[bytes] = []
    gate, free = asyncio.Event(), [True, False]

    async def tell(line: bytes, _: object) -> None:
        await gate.wait()
        told.append(line)

    def tell_now(line: bytes, _: object) -> bool:
        if is_free := free.pop(0) if free else True:
            told.append(line)
        return is_free

    async def refuse(_: object, __: Exception) -> None:
        raise AssertionError

    outgoing = Outgoing(tell, refuse, tell_now)
    for line in (b"at once", b"waits", b"behind it"):
        await outgoing.put(line, {"id": 1})
    assert told == [b"at once"]
    gate.set()
    assert await outgoing.settled(Patience(ends=LONG))
    assert told == [b"at once", b"waits", b"behind it"]
    await outgoing.close()
