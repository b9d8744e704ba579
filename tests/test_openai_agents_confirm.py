"""Two-phase tools and rejected calls: an approval is of one action, and a no is for the turn."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import FunctionTool, Tool, WebSearchTool, function_tool

from adapter_suite import C1, CONTRACTS, Call, World
from confirm_school import CONFIRM, CREATE, PREVIEW, ROOM, School, contract_of
from openai_agents_runs import agent_of, asks, go, guard_of, plainly, text_of, told, tools_of
from retry_guard import UsageError
from retry_guard_ledgers import MemoryLedger
from retry_guard_openai_agents import AgentGuard


def rooms(school: School) -> list[FunctionTool]:
    @function_tool
    def preview_exam_room(room: str, starts: str) -> str:
        """Show what would be made."""
        return json.dumps(school.preview({"room": room, "starts": starts}, {}))

    @function_tool
    def create_exam_room(room: str, starts: str, confirm_token: str = "") -> str:
        """Make a room."""
        given = {"room": room, "starts": starts, "confirm_token": confirm_token}
        return json.dumps(school.create(given, {}))

    return [preview_exam_room, create_exam_room]


def made(school: School) -> AgentGuard:
    contract = contract_of(confirm={**CONFIRM, "preview": PREVIEW})
    return AgentGuard(MemoryLedger(), [contract], tools=rooms(school), scope="acme", turn="t1")


def step(guard: AgentGuard, tool: str, arguments: Any) -> str:
    call = Call("c1", arguments, tool)
    return text_of(go(agent_of(guard, asks(call))), call)


@pytest.mark.parametrize("fates", [[], ["lost_ack"]])
def test_a_second_token_makes_no_second_room(fates: list[Any]) -> None:
    school = School(fates=[*fates])
    guard = made(school)
    shown = step(guard, PREVIEW, ROOM)
    assert step(guard, PREVIEW, {**ROOM, "room": "Room 5a"}) == shown
    token = json.loads(shown)["confirm_token"]
    first = step(guard, CREATE, {**ROOM, "confirm_token": token})
    again = step(guard, CREATE, {**ROOM, "confirm_token": school.mint(ROOM)})
    assert first == again
    assert ("not known whether" in first) == bool(fates)
    other = step(guard, CREATE, {**ROOM, "room": "7", "confirm_token": "x"})
    assert "no preview that is known" in other
    assert other.count("nothing was sent") == 1
    assert len(school.rooms) == len(school.requests) == len(school.previews) == 1


def test_a_preview_that_is_missing_is_refused() -> None:
    contract = contract_of(confirm={**CONFIRM, "preview": PREVIEW})
    _, create = rooms(School())
    with pytest.raises(UsageError, match=f"{CREATE} is previewed by '{PREVIEW}': add it"):
        AgentGuard(MemoryLedger(), [contract], tools=[create], scope="acme")


def test_a_preview_that_the_sdk_runs_itself_is_refused() -> None:
    contract = contract_of(confirm={**CONFIRM, "preview": "web_search"})
    tools: list[Tool] = [rooms(School())[1], WebSearchTool()]
    with pytest.raises(UsageError, match="web_search is run by the SDK or the model's host"):
        AgentGuard(MemoryLedger(), [contract], tools=tools, scope="acme")


def test_what_the_user_rejected_stays_rejected_in_its_turn(tmp_path: Path) -> None:
    world = World(CONTRACTS["neither"], tmp_path)

    def guard_in(turn: str) -> AgentGuard:
        return guard_of(world, tools_of(world, needs_approval=True), turn=turn)

    async def rejected() -> Any:
        guard = guard_in("t1")
        agent = agent_of(guard, asks(C1), asks(C1._replace(id="c2")))
        result = await plainly(agent)
        (item,) = result.interruptions
        assert await guard.reject(item)
        state = result.to_state()
        state.reject(item)
        result = await plainly(agent, state)
        (item,) = result.interruptions
        state = result.to_state()
        state.approve(item)  # by mistake
        return await plainly(agent, state)

    second = C1._replace(id="c2")
    assert "The user said no to this `charge`" in text_of(asyncio.run(rejected()), second)
    assert world.requests == 0

    async def approved() -> Any:
        agent = agent_of(guard_in("t2"), asks(C1))
        result = await plainly(agent)
        state = result.to_state()
        state.approve(result.interruptions[0])
        return await plainly(agent, state)

    assert told(asyncio.run(approved()), C1) == ("done", {"id": "ch_1"})


def test_a_rejection_of_another_tools_call_is_nothing_to_the_guard(tmp_path: Path) -> None:
    world = World(CONTRACTS["neither"], tmp_path)

    @function_tool(needs_approval=True)
    def ping() -> str:
        """Ping."""
        return "pong"

    async def run() -> bool:
        guard = guard_of(world, [*tools_of(world), ping])
        result = await plainly(agent_of(guard, asks(Call("c1", {}, "ping"))))
        return await guard.reject(result.interruptions[0])

    assert not asyncio.run(run())
