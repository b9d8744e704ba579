"""Whether a request may go is asked right before its first byte, by either way to a server."""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from mcp_proxy_client import INITIALIZE, Json, Site
from mcp_proxy_fakes import QuietServer
from raw_servers import serving
from retry_guard import Contract, Policy
from retry_guard_contracts import Key
from retry_guard_ledgers import open_ledger
from retry_guard_mcp_proxy._child import Patience, start
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._desk import GuardDesk
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._http import HttpUpstream
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._outlets import outlet
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._stdio import StdioUpstream
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY, Ears, Renewed

WAIT, LEASE = 120.0, 3.0
PLAIN = Contract(tool="post")
KEYED = Contract(tool="post", key=Key(param="key", retention=86400.0))


async def nothing(*_: object) -> None:
    """Hear nothing."""


def note(*_: object) -> None:
    """Note nothing."""


def none() -> Sequence[bytes]:
    """Nothing has to be told again."""
    return ()


DEAF = Ears(said=nothing, asked=note, refused=nothing, ended=nothing, again=none)


class NotNowError(Exception):
    """It may not go."""


def refuses() -> None:
    raise NotNowError


# The guarded call


class Gate(QuietServer):
    """A server that has to be started first: that takes until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.reached = asyncio.Event(), asyncio.Event()
        self.sent: list[Message] = []
        self.takes: Json = {"text": {}, "key": {}}
        self.lists, self.times, self.connects = 0, 0, 0.0
        self.listing: Callable[[], None] = NOBODY

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        if method == "tools/list":
            self.lists += 1
            self.listing()
            tool: Json = {"name": "post", "inputSchema": {"properties": self.takes}}
            return {"id": given, "result": {"tools": [tool]}}
        self.reached.set()
        self.times += 1
        await self.open.wait()
        await asyncio.sleep(self.connects)
        if self.connects and isinstance(goes, Renewed):
            await goes.renew()
        goes()
        self.sent.append(params)
        return {"id": given, "result": {"content": [], "isError": False}}


class Room:
    """One proxy of several on one ledger, without a pipe. No lease is renewed."""

    def __init__(self, ledger: str, lease: float, contract: Contract = PLAIN) -> None:
        self.server, self.told = Gate(), asyncio.Event()
        parts = Parts(
            ledger=open_ledger(ledger),
            contracts=[contract],
            scope="acme",
            policy=Policy(lease=lease, max_attempt=0.0),
        )
        self.desk = GuardDesk(parts, Client(self), self.server, Session())

    async def write(self, line: bytes, goes: Callable[[], None] = NOBODY) -> None:
        goes()
        assert line
        self.told.set()

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def calls(self) -> None:
        params: Json = {"name": "post", "arguments": {"text": "x"}}
        self.desk.take({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    async def end(self) -> None:
        await self.desk.settled()
        await self.desk.close()


@pytest.mark.parametrize("taken", [False, True])
async def test_a_call_whose_server_comes_late_is_sent_only_if_nobody_took_it_over(
    taken: bool, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path}/guard.db"
    first, second = Room(ledger, LEASE), Room(ledger, LEASE)
    async with asyncio.timeout(WAIT):
        first.calls()
        await first.server.reached.wait()
        await asyncio.sleep(LEASE * 1.2)  # it runs out
        if taken:
            second.calls()
            await second.told.wait()
        first.server.open.set()
        await first.told.wait()
        await first.end()
        await second.end()
    assert len(first.server.sent) == (0 if taken else 1)
    assert second.server.sent == []


@pytest.mark.parametrize("taken", [False, True])
async def test_where_every_connection_takes_longer_than_it_may_be_late_it_goes_on_the_first(
    taken: bool, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path}/guard.db"
    first, second = Room(ledger, LEASE), Room(ledger, LEASE)
    first.server.connects = LEASE * (1.2 if taken else 0.5)
    first.server.open.set()
    async with asyncio.timeout(WAIT):
        first.calls()
        await first.server.reached.wait()
        if taken:
            await asyncio.sleep(LEASE * 1.1)
            second.calls()
            await second.told.wait()
        await first.told.wait()
        await first.end()
        await second.end()
    assert first.server.times == 1
    assert len(first.server.sent) == (0 if taken else 1)


@pytest.mark.parametrize("has_key", [False, True])
@pytest.mark.parametrize("seen", ["the end", "a new session"])
async def test_a_server_that_is_another_one_when_it_would_go_is_asked_for_its_list_first(
    seen: str, has_key: bool, tmp_path: Path
) -> None:
    room = Room(f"sqlite:///{tmp_path}/guard.db", 30.0, KEYED)
    async with asyncio.timeout(WAIT):
        room.calls()
        await room.server.reached.wait()
        assert room.server.lists == 1
        if not has_key:
            del room.server.takes["key"]
        if seen == "the end":
            room.desk.lost(ClosedError("it ended"))
        else:
            room.desk.renewed()
        room.server.open.set()
        await room.told.wait()
        await room.end()
    assert (room.server.lists, len(room.server.sent)) == (2, int(has_key))


@pytest.mark.parametrize("is_same", [False, True])
async def test_equal_lists_count_only_where_they_are_of_one_server(
    is_same: bool, tmp_path: Path
) -> None:
    """Each time that it is asked, its list has changed, or it may be another server by then."""
    room = Room(f"sqlite:///{tmp_path}/guard.db", 30.0, KEYED)
    room.server.open.set()
    room.server.listing = partial(room.desk.renewed, is_same=is_same)
    async with asyncio.timeout(WAIT):
        room.calls()
        await room.told.wait()
        await room.end()
    assert len(room.server.sent) == int(is_same)


# A process


async def test_a_server_that_is_started_again_is_asked_for_before_it_goes(tmp_path: Path) -> None:
    site = Site(tmp_path)
    session = Session()
    session.opening = INITIALIZE  # so that it has answered before it is asked for anything
    upstream = StdioUpstream(site.server, session, DEAF)
    lives: list[int] = []

    def looks() -> None:
        lives.append(len(site.lives))

    async with asyncio.timeout(WAIT):
        await upstream.open(start(site.server))
        with pytest.raises(Exception, match="closed"):
            await upstream.request(upstream.new_id(), "die", {})
        with pytest.raises(NotNowError):
            await upstream.request(upstream.new_id(), "tools/call", {}, goes=refuses)
        await upstream.request(upstream.new_id(), "ping", {}, goes=looks)
        await upstream.close(Patience())
    assert lives == [2]
    assert not any("tools/call" in one for one in site.heard)


async def test_it_goes_when_what_was_written_before_is_gone() -> None:
    out, into = os.pipe()
    pipe, gone, read = await outlet(into), list[int](), 0
    size = 1 << 20
    whole = size + len(b"last")

    def goes() -> None:
        gone.append(read)

    first = asyncio.create_task(pipe.write(b"x" * size))
    await asyncio.sleep(0)
    last = asyncio.create_task(pipe.write(b"last", goes))
    async with asyncio.timeout(WAIT):
        while read < whole:
            assert bool(gone) <= (read > 0)
            read += len(await asyncio.to_thread(os.read, out, 1 << 16))
        await asyncio.gather(first, last)
    assert gone[0] > 0
    pipe.close()
    os.close(out)


async def test_what_may_not_go_leaves_what_follows_to_be_written() -> None:
    out, into = os.pipe()
    pipe = await outlet(into)
    with pytest.raises(NotNowError):
        await pipe.write(b"first", refuses)
    await pipe.write(b"second")
    assert os.read(out, 100) == b"second"
    pipe.close()
    os.close(out)


# A URL


async def test_over_http_it_goes_when_there_is_a_connection() -> None:
    seen = list[bytes]()

    with serving(lambda connection: seen.append(b"request")) as address:
        upstream = HttpUpstream(f"http://{address}/mcp", {}, Session(), DEAF)
        async with asyncio.timeout(WAIT):
            with pytest.raises(NotNowError):
                await upstream.request(upstream.new_id(), "tools/call", {}, goes=refuses)
            await upstream.close(Patience())
    assert seen == []


async def test_over_http_nothing_goes_where_nobody_listens() -> None:
    gone = list[bool]()
    with serving(lambda _: None) as address:
        pass
    upstream = HttpUpstream(f"http://{address}/mcp", {}, Session(), DEAF)
    with pytest.raises(Exception, match="onnect"):
        await upstream.request(upstream.new_id(), "tools/call", {}, goes=lambda: gone.append(True))
    await upstream.close(Patience())
    assert gone == []


async def test_over_http_what_is_late_is_given_its_time_on_the_connection_that_is_there() -> None:
    connections, done, names = list[bytes](), list[str](), list[str]()

    def goes() -> None:
        done.append("goes")
        if "renewed" not in done:
            raise NotNowError

    async def renew() -> None:
        done.append("renewed")

    def answer(connection: socket.socket) -> None:
        connections.append(b"one")
        body = json.dumps({"jsonrpc": "2.0", "id": names[0], "result": {}}).encode()
        kind = b"Content-Type: application/json\r\n"
        connection.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (kind, len(body)))
        connection.sendall(body)

    with serving(answer) as address:
        upstream = HttpUpstream(f"http://{address}/mcp", {}, Session(), DEAF)
        names.append(upstream.new_id())
        async with asyncio.timeout(WAIT):
            may = Renewed(goes, renew)
            answered = await upstream.request(names[0], "tools/call", {}, goes=may)
            await upstream.close(Patience())
    assert "result" in answered
    assert done == ["renewed", "goes"]
    assert connections == [b"one"]
