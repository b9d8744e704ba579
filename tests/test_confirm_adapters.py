"""Two-phase tools through the adapters, none of which knows of them: they only call the guard."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from adapter_suite import Call
from confirm_school import CONFIRM, CREATE, PREVIEW, ROOM, School, contract_of
from guards import Args
from langgraph_agents import Runner, asks, awaited, blocking, graph_of, human
from retry_guard import (
    ArgumentError,
    AsyncGuard,
    Contract,
    Guard,
    Unresolved,
    UnresolvedError,
    UsageError,
)
from retry_guard_contracts import token_of
from retry_guard_functions import Toolbox
from retry_guard_httpx import guarded
from retry_guard_langgraph import GuardMiddleware
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

Step = Callable[..., str]
"""One call of a tool in a turn: what a model is told."""


def contract(*, one: bool) -> Contract:
    rule = CONFIRM if one else {**CONFIRM, "preview": PREVIEW}
    return contract_of(confirm=rule)


def functions(school: School, *, one: bool) -> list[Callable[..., Any]]:
    """The tools of an agent."""

    def preview_exam_room(room: str, starts: str) -> dict[str, Any]:
        """Show what would be made."""
        return given(school.preview, {"room": room, "starts": starts})

    def create_exam_room(room: str, starts: str, confirm_token: str = "") -> dict[str, Any]:
        """Make a room."""
        more = {"confirm_token": confirm_token} if confirm_token else {}
        send = school.either if one else school.create
        return given(send, {"room": room, "starts": starts, **more})

    return [create_exam_room] if one else [preview_exam_room, create_exam_room]


def given(send: Any, arguments: Args) -> dict[str, Any]:  # noqa: ANN401 - either step
    answer: dict[str, Any] = send(arguments, {})
    return answer


def langgraph_steps(run: Runner, kind: Any) -> Callable[[School, bool], Step]:  # noqa: ANN401 - as its graphs take it
    """The steps of a graph, each a run of its own, in the turn of the human's message."""

    def steps(school: School, one: bool) -> Step:
        tools = [tool(each) for each in functions(school, one=one)]
        guard = GuardMiddleware(MemoryLedger(), [contract(one=one)], tools=tools, scope="acme")

        def step(name: str, arguments: Args, turn: str = "t1") -> str:
            graph = graph_of(kind, guard, tools, asks(Call("c", arguments, name)))
            messages = run(graph, human(turn))["messages"]
            (message,) = [m for m in messages if isinstance(m, ToolMessage)]
            return str(message.content)

        return step

    return steps


def toolbox_steps(school: School, one: bool) -> Step:
    """The steps of the loops that call functions."""
    tools = functions(school, one=one)
    box = Toolbox(MemoryLedger(), [contract(one=one)], tools=tools, classify=classify)

    def step(name: str, arguments: Args, turn: str = "t1") -> str:
        return box.call(name, json.dumps(arguments), scope="acme", turn=turn).text

    return step


ADAPTERS: dict[str, Callable[[School, bool], Step]] = {
    "langgraph-agent": langgraph_steps(blocking, "agent"),
    "langgraph-agent-async": langgraph_steps(awaited, "agent"),
    "langgraph-node": langgraph_steps(blocking, "node"),
    "toolbox": toolbox_steps,
}
every_adapter = pytest.mark.parametrize("make", ADAPTERS.values(), ids=ADAPTERS)
both_shapes = pytest.mark.parametrize("one", [False, True], ids=["two", "one"])


@every_adapter
@both_shapes
def test_an_agent_that_plans_anew_makes_one_room(
    make: Callable[[School, bool], Step], one: bool
) -> None:
    school = School()
    step, preview = make(school, one), CREATE if one else PREVIEW
    shown = step(preview, ROOM)
    assert step(preview, {**ROOM, "room": "Room 5a"}) == shown
    carried = {**ROOM, "confirm_token": json.loads(shown)["confirm_token"]}
    made = step(CREATE, carried)
    assert json.loads(made) == {"id": "room_1"}
    assert step(CREATE, {**ROOM, "confirm_token": school.mint(ROOM)}) == made
    assert step(preview, ROOM) == made
    assert "other values in: room;" in step(CREATE, {**carried, "room": "Room 6B"})
    assert "no preview that is known" in step(CREATE, {**ROOM, "room": "7", "confirm_token": "x"})
    assert len(school.rooms) == len(school.requests) == len(school.previews) == 1


@every_adapter
@both_shapes
def test_after_a_lost_answer_an_agent_gets_no_other_token(
    make: Callable[[School, bool], Step], one: bool
) -> None:
    school = School(fates=["lost_ack"])
    step, preview = make(school, one), CREATE if one else PREVIEW
    carried = {**ROOM, "confirm_token": json.loads(step(preview, ROOM))["confirm_token"]}
    for name, arguments, turn in [
        (CREATE, carried, "t1"),
        (preview, ROOM, "t1"),
        (preview, ROOM, "t2"),
        (CREATE, {**ROOM, "confirm_token": school.mint(ROOM)}, "t2"),
    ]:
        told = step(name, arguments, turn=turn)
        assert "It is not known whether `create_exam_room` took effect" in told
    assert len(school.rooms) == len(school.requests) == len(school.previews) == 1


@both_shapes
def test_decorated_functions_are_bound_too(one: bool) -> None:
    school, stated = School(), contract(one=one)
    guard = Guard(MemoryLedger(), classify=classify)
    *first, last = functions(school, one=one)
    create = guard.tool(stated)(last)
    preview = guard.tool(stated.previewing)(first[0]) if first else create
    with guard.turn("acme", "t1"):
        token = preview(**ROOM)["confirm_token"]
        assert preview(**ROOM)["confirm_token"] == token
        assert create(**ROOM, confirm_token=token) == {"id": "room_1"}
        assert create(**ROOM, confirm_token=school.mint(ROOM)) == {"id": "room_1"}
        with pytest.raises(ArgumentError, match="other values in: room;"):
            create(room="7", starts=ROOM["starts"], confirm_token=token)
    with guard.turn("acme", "t2"):
        assert guard.reject(CREATE, ROOM, scope="acme", turn="t2")
        with pytest.raises(UnresolvedError) as stopped:
            preview(**ROOM)
    assert isinstance(stopped.value.outcome, Unresolved)
    assert stopped.value.outcome.reason == "rejected"
    assert len(school.rooms) == len(school.previews) == 1


@both_shapes
def test_decorated_functions_that_are_awaited_are_bound_too(one: bool) -> None:
    school, stated = School(), contract(one=one)
    guard = AsyncGuard(MemoryLedger(), classify=classify)

    def awaitable(function: Callable[..., Any]) -> Callable[..., Any]:
        async def later(room: str, starts: str, confirm_token: str = "") -> Any:  # noqa: ANN401 - as the function's
            more = {"confirm_token": confirm_token} if confirm_token else {}
            return function(room=room, starts=starts, **more)

        return later

    *first, last = [awaitable(each) for each in functions(school, one=one)]
    create = guard.tool(stated)(last)
    preview = guard.tool(stated.previewing)(first[0]) if first else create

    async def work() -> None:
        with guard.turn("acme", "t1"):
            shown = await asyncio.gather(*(preview(**ROOM) for _ in range(5)))
            tokens = {each["confirm_token"] for each in shown}
            assert len(tokens) == 1
            made = [create(**ROOM, confirm_token=tokens.copy().pop()) for _ in range(5)]
            assert await asyncio.gather(*made) == [{"id": "room_1"}] * 5

    asyncio.run(work())
    assert len(school.rooms) == len(school.previews) == 1


def test_the_preview_has_no_second_contract() -> None:
    own = Contract(tool=PREVIEW, effect="read")
    for contracts in ([contract(one=False), own], [own, contract(one=False)]):
        with pytest.raises(UsageError, match=f"{PREVIEW} previews {CREATE}, whose contract covers"):
            Guard(MemoryLedger(), contracts, classify=classify)
    other = contract(one=False).model_copy(update={"tool": "create_hall"})
    with pytest.raises(UsageError, match=f"{PREVIEW} previews"):
        Guard(MemoryLedger(), [contract(one=False), other], classify=classify)
    guard = Guard(MemoryLedger(), [contract(one=False)], classify=classify)
    guard.add(contract(one=False))
    assert sorted(guard.contracts) == [CREATE, PREVIEW]


def test_a_token_that_no_request_has_is_refused_by_the_transport() -> None:
    stated = contract_of(tool="POST https://api.example.com/rooms", confirm=CONFIRM)
    stated = stated.model_copy(update={"identity": None, "defaults": {}})
    guard = Guard(MemoryLedger(), [stated], classify=classify)
    with pytest.raises(UsageError, match="no request has 'confirm_token': write one of"):
        guarded(httpx.HTTPTransport(), guard)


SHOWN = {"preview": "…", "confirm_token": "tok"}
BLOCK = {"type": "text", "text": json.dumps(SHOWN)}


@pytest.mark.parametrize(
    "result",
    [
        SHOWN,
        json.dumps(SHOWN),
        {"content": [BLOCK]},
        {"content": [{"type": "text", "text": "shown"}], "structuredContent": SHOWN},
        httpx.Response(200, json=SHOWN),
    ],
    ids=["data", "text", "mcp-text", "mcp-structured", "http"],
)
def test_a_token_is_found_in_whatever_a_result_comes_in(result: object) -> None:
    rule = contract(one=True).confirm
    assert rule is not None
    assert token_of(rule, result) == "tok"


def test_a_ledger_that_cannot_say_what_is_known_is_refused(tmp_path: Path) -> None:
    class Old:
        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the ledger's
            if name == "known":
                raise AttributeError(name)
            return getattr(MemoryLedger(), name)

    with pytest.raises(UsageError, match="Old lacks known"):
        Guard(cast("Any", Old()), [contract(one=True)], classify=classify)
    assert not list(tmp_path.iterdir())
