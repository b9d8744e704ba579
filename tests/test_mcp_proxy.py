"""The conformance suite of all adapters, played through the proxy's desk."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapter_suite import Call, Cell, Killed, Told, World, every_cell
from mcp_proxy_client import turn as shown_turn
from mcp_proxy_fakes import QuietServer
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._desk import GuardDesk
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY


class Listening:
    """What the client is told."""

    def __init__(self) -> None:
        self.said: list[Message] = []

    async def write(self, line: bytes, goes: Callable[[], None] = NOBODY) -> None:
        goes()
        self.said.append(json.loads(line))

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class WorldServer(QuietServer):
    """An MCP server in this process, whose tools are the world's."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.killed = world, False

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        goes()
        assert headers == {}
        if method == "tools/list":
            listed: list[dict[str, Any]] = [
                {"name": name, "inputSchema": {}} for name in ("charge", "list_charges")
            ]
            return {"id": given, "result": {"tools": listed}}
        assert method == "tools/call"
        tools: dict[str, Callable[..., Any]] = {
            "charge": self.world.charge,
            "list_charges": self.world.list_charges,
        }
        try:
            body: Any = tools[params["name"]](**params["arguments"])
        except Killed:
            self.killed = True
            raise
        except TimeoutError as error:
            raise ClosedError(str(error)) from error
        except RuntimeError as error:
            return {"id": given, "result": {"content": text(str(error)), "isError": True}}
        return {"id": given, "result": {"content": text(json.dumps(body)), "isError": False}}


def text(said: str) -> list[Message]:
    return [{"type": "text", "text": said}]


class ProxyBench:
    """A client that calls one tool after the other, and shows the turn as Codex does."""

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        return asyncio.run(self.play(world, turn, calls))

    async def play(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        outlet, server = Listening(), WorldServer(world)
        ledger: Any = world.ledger()
        parts = Parts(
            ledger=ledger, contracts=[world.contract], scope=world.scope, policy=world.policy
        )
        desk = GuardDesk(parts, Client(outlet), server, Session())
        for call in calls:
            params = {"name": call.tool, "arguments": call.arguments, "_meta": shown_turn(turn)}
            desk.take({"jsonrpc": "2.0", "id": call.id, "method": "tools/call", "params": params})
            await desk.settled()
            if server.killed:
                await desk.close()
                raise Killed
        await desk.close()
        return [told(answer["result"]) for answer in outlet.said]


def told(result: Message) -> Told:
    said = result["content"][0]["text"]
    return Told("unresolved", said) if result["isError"] else Told("done", json.loads(said))


@every_cell
def test_the_proxy_answers_as_the_core_does(cell: Cell, tmp_path: Path) -> None:
    cell.check(ProxyBench(), tmp_path)
