"""The timers of a guarded call, with limits that are shorter than those of real clients."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import INITIALIZE, META
from mcp_proxy_fakes import QuietServer
from retry_guard import Contract, Policy
from retry_guard_ledgers import SQLiteLedger, open_ledger
from retry_guard_mcp_proxy import _patience
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._desk import GuardDesk
from retry_guard_mcp_proxy._late import Deliveries, LateLedger
from retry_guard_mcp_proxy._messages import Message, encoded
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY

INFO = "io.modelcontextprotocol/clientInfo"
OWN: Message = {"content": [{"type": "text", "text": "done"}], "isError": False}


class SlowServer(QuietServer):
    """A server that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Message] = []
        self.answers = asyncio.Event()

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        goes()
        self.sent.append(params)
        await self.answers.wait()
        return {"id": given, "result": OWN}


class Room:
    """A desk between a client of one name and a slow server."""

    def __init__(self, policy: Policy | None = None, ledger: str = "memory://") -> None:
        self.said: list[Message] = []
        self.server, self.session = SlowServer(), Session()
        parts = Parts(
            ledger=open_ledger(ledger),
            contracts=[Contract(tool="post")],
            scope="acme",
            policy=policy,
        )
        self.desk = GuardDesk(parts, Client(self), self.server, self.session)

    async def write(self, line: bytes, goes: Callable[[], None] = NOBODY) -> None:
        goes()
        self.said.append(json.loads(line))

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def hears(self, message: Message) -> None:
        """Hear the client, as the pipe does."""
        self.session.hear(message, encoded(message))
        if message["method"] == "tools/call":
            self.desk.take(message)

    def opens(self, name: str) -> None:
        opening = {**INITIALIZE, "clientInfo": {"name": name}}
        self.hears({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})

    def calls(self, **meta: object) -> None:
        params = {"name": "post", "arguments": {"text": "x"}, "_meta": meta}
        self.hears({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    def relays(self, progress: object) -> None:
        """Relay the server's progress."""
        params = {"progressToken": "own-1", "progress": progress, "total": 9}
        beat = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        for one in self.desk.progress(beat) or ():
            self.said.append(one)

    async def end(self) -> None:
        self.server.answers.set()
        await self.desk.settled()
        await self.desk.close()

    @property
    def beats(self) -> list[Any]:
        return [one["params"]["progress"] for one in self.said if "method" in one]

    @property
    def results(self) -> list[Message]:
        return [one["result"] for one in self.said if "result" in one]


async def until(room: Room, count: int) -> None:
    async with asyncio.timeout(20):
        while len(room.said) < count:  # noqa: ASYNC110 - it is a list, and has no event
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize(("name", "waits"), [("claude-code", True), ("somebody", False)])
async def test_the_name_that_counts_is_the_one_that_the_client_gives_in_its_generation(
    monkeypatch: pytest.MonkeyPatch, name: str, stateless: bool, waits: bool
) -> None:
    monkeypatch.setattr(_patience, "UNKNOWN", 0.1)
    room = Room()
    room.opens("other" if stateless else name)
    room.calls(**({**META, INFO: {"name": name}} if stateless else {}))
    await (asyncio.sleep(0.5) if waits else until(room, 1))
    assert [result["isError"] for result in room.results] == ([] if waits else [True])
    await room.end()
    assert [result["isError"] for result in room.results] == ([False] if waits else [True])


async def test_a_repeat_joins_for_as_long_as_its_client_waits() -> None:
    """The guard itself says after its deadline that the first call is still running."""
    room = Room(Policy(deadline=0.1))
    room.opens("claude-code")
    room.calls()
    room.calls()
    await asyncio.sleep(0.5)
    assert room.results == []
    await room.end()
    assert [result["content"] for result in room.results] == [OWN["content"]] * 2
    assert len(room.server.sent) == 1


async def test_a_client_that_progress_keeps_waiting_sees_some_that_grows_until_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_patience, "BEAT", 0.05)
    room = Room()
    room.opens("copilot-cli")
    room.calls(progressToken=7)
    await until(room, 2)
    room.relays(3)
    await until(room, 5)
    await room.end()
    assert room.beats == sorted(set(room.beats))
    assert 3 in room.beats
    assert 3 < room.beats[-1] < 3.001
    assert {one["params"]["progressToken"] for one in room.said if "method" in one} == {7}
    assert room.said[-1]["result"] == OWN
    said = len(room.said)
    await asyncio.sleep(0.2)
    assert len(room.said) == said


@pytest.mark.parametrize(("name", "meta"), [("copilot-cli", {}), ("codex", {"progressToken": 7})])
async def test_no_other_client_and_no_call_without_a_token_sees_progress_that_nobody_made(
    monkeypatch: pytest.MonkeyPatch, name: str, meta: Message
) -> None:
    monkeypatch.setattr(_patience, "BEAT", 0.05)
    room = Room()
    room.opens(name)
    room.calls(**meta)
    await asyncio.sleep(0.3)
    await room.end()
    assert room.beats == []


async def test_an_equal_call_of_the_next_turn_waits_until_the_answer_counts_as_delivered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its ledger works in threads, so a claim could well come before a save that takes long."""
    at_once, noted = LateLedger.delivered, threading.Event()

    def slow(ledger: LateLedger, here: Deliveries) -> None:
        assert noted.wait(30)
        at_once(ledger, here)

    monkeypatch.setattr(LateLedger, "delivered", slow)
    monkeypatch.setattr(SQLiteLedger, "prompt", None)  # that never waits
    room = Room(ledger=f"sqlite:///{tmp_path / 'guard.db'}")
    room.opens("claude-code")
    room.server.answers.set()
    room.calls(**{"x-codex-turn-metadata": {"turn_id": "t1"}})
    await until(room, 1)
    room.calls(**{"x-codex-turn-metadata": {"turn_id": "t2"}})
    await asyncio.sleep(1)
    noted.set()
    await until(room, 2)
    await room.end()
    assert [result["content"] for result in room.results] == [OWN["content"]] * 2
    assert len(room.server.sent) == 2
