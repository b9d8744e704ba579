"""How keys reach tools, what becomes of their results, and what outlives a process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    SQLiteSession,
    ToolOutputImage,
    ToolOutputText,
    UserError,
    function_tool,
)
from agents.items import TResponseInputItem
from agents.testing import ScriptedModel, assistant_message

from adapter_suite import C1, CONTRACTS, Call, World
from guards import Flaky
from openai_agents_runs import (
    DONE,
    QUIET,
    agent_of,
    asks,
    go,
    guard_of,
    note_of,
    plainly,
    streamed,
    text_of,
    told,
    tools_of,
)
from retry_guard import Contract
from retry_guard_contracts import Key
from retry_guard_openai_agents import sent_headers, unresolved_in

C2 = C1._replace(id="c2")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Keys


def test_a_model_does_not_see_the_key(tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    tools = tools_of(world)
    guarded: Any = guard_of(world, tools).tools[0]
    assert "key" not in json.dumps(guarded.params_json_schema)
    assert "key" in tools[0].params_json_schema["properties"]
    result = go(agent_of(guard_of(world, tools), asks(C1)))
    assert told(result, C1) == DONE
    assert len(world.known) == 1
    watched: Any = guard_of(world, tools, mode="observe").tools[0]
    assert watched.params_json_schema == tools[0].params_json_schema


def test_a_key_that_travels_as_a_header_reaches_the_body(world: World) -> None:
    seen: list[dict[str, str]] = []

    @function_tool
    def charge(customer: str, amount: int) -> str:
        """Charge a customer."""
        seen.append(sent_headers())
        if len(seen) == 1:
            raise TimeoutError
        return "ok"

    keyed = Contract(tool="charge", key=Key(param="header:Idempotency-Key", retention=86400.0))
    result = go(agent_of(guard_of(world, [charge], contracts=[keyed]), asks(C1)))
    assert text_of(result, C1) == "ok"
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert seen[0].keys() == {"Idempotency-Key"}


@pytest.mark.parametrize("policy", [True, "amounts above 10"])
def test_the_tools_own_approval_stays_as_it_was(policy: Any, tmp_path: Path) -> None:
    world, seen = World(CONTRACTS["key"], tmp_path), list[Any]()

    async def above(_: Any, arguments: dict[str, Any], call_id: str) -> bool:
        seen.append((arguments, call_id))
        return bool(arguments["amount"] > 10)

    needs = above if isinstance(policy, str) else policy
    guard = guard_of(world, tools_of(world, needs_approval=needs))
    high = Call("c5", {"customer": "c1", "amount": 11})
    text = Call("c6", {"customer": "c1", "amount": "5"})  # a number only once it was converted
    for call, waits in ((high, True), (text, True), (C1, policy is True)):
        assert bool(go(agent_of(guard, asks(call))).interruptions) == waits
    assert len(world.effects) == (0 if policy is True else 1)
    assert all("key" not in arguments for arguments, _ in seen)


# Results


@dataclass
class Receipt:
    id: str


class Odd:
    def __repr__(self) -> str:
        return "an odd thing"


TEXT, IMAGE = ToolOutputText(text="ok"), ToolOutputImage(image_url="data:,x")
RESULTS = {
    "text": "ok",
    "json text": '{"id": 1}',
    "none": None,
    "number": 5,
    "list": [1, "a"],
    "tuple": (1, (2,)),
    "dict": {"id": "ch_1", "n": 1.0},
    "part": TEXT,
    "parts": [TEXT, IMAGE],
    "part as data": {"type": "text", "text": "ok"},
    "dataclass": Receipt("ch_1"),
    "odd": Odd(),
}


@pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
def test_a_replay_reads_as_the_tools_own_result(value: Any, world: World) -> None:
    ran: list[int] = []

    @function_tool
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        ran.append(1)
        return value

    first = go(agent_of(guard_of(world, [charge]), asks(C1)))
    second = go(agent_of(guard_of(world, [charge]), asks(C1)))
    assert text_of(first, C1) == text_of(second, C1)
    assert ran == [1]
    assert note_of(second, C1)["replayed"] is True


def test_a_tool_with_a_schema_for_its_results_is_guarded_too(world: World) -> None:
    """The guard's sentences are not held against it; a replay is, and fits."""

    @function_tool(allowed_callers=["direct", "programmatic"], output_type=Receipt)
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        return Receipt(world.charge(customer, amount)["id"])

    world.fates.append("lost_ack")
    other = Call("c3", {"customer": "c3", "amount": 3})
    calls = [asks(call) for call in (C1, other, other._replace(id="c4"))]
    result = go(agent_of(guard_of(world, [charge]), *calls))
    assert text_of(result, C1).startswith("It is not known whether `charge` took effect")
    texts = [text_of(result, other._replace(id=name)) for name in ("c3", "c4")]
    assert texts == ['{"id":"ch_2"}'] * 2
    assert world.requests == 2


def counting() -> Iterator[int]:
    yield from range(3)


@pytest.mark.parametrize("kind", ["generator", "file", "20 MB", "surrogate"])
def test_what_cannot_be_stored_reaches_its_caller_and_nothing_runs_twice(
    kind: str, world: World, tmp_path: Path
) -> None:
    path, ran = tmp_path / "file", list[int]()
    path.write_text("x")
    file = path.open()

    @function_tool
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        ran.append(1)
        match kind:
            case "generator":
                return counting()
            case "file":
                return file
            case "20 MB":
                return "x" * 20_000_000
            case _:
                return "bad \ud800 text"

    first = go(agent_of(guard_of(world, [charge]), asks(C1)))
    second = go(agent_of(guard_of(world, [charge]), asks(C1)))
    begins = {"generator": "<generator", "file": "<_io", "20 MB": "xxx", "surrogate": "bad"}
    assert text_of(first, C1).startswith(begins[kind])
    assert ran == [1]
    assert "It happened" in text_of(second, C1) or text_of(second, C1) == text_of(first, C1)
    file.close()


def test_a_read_back_goes_through_the_agents_own_tools(tmp_path: Path) -> None:
    world = World(CONTRACTS["read-back"], tmp_path)
    world.fates.append("lost_ack")

    @function_tool
    def list_charges() -> Any:
        """List the charges, in the SDK's own form."""
        return ToolOutputText(text=json.dumps(world.list_charges()))

    result = go(agent_of(guard_of(world, [tools_of(world)[0], list_charges]), asks(C1)))
    assert told(result, C1) == DONE
    assert note_of(result, C1) == {}
    assert world.requests == 1


def test_a_ledger_that_fails_ends_the_run_before_anything_is_sent(world: World) -> None:
    ledger = Flaky(world.ledger())
    guard = guard_of(world, ledger=ledger)
    ledger.down.add("claim")
    with pytest.raises(UserError, match="Error running tool charge: the ledger is down"):
        go(agent_of(guard, asks(C1)))
    assert world.requests == 0


# Sessions


class Forgetful(SQLiteSession):
    """Fails once, when the first results of tools are to be written."""

    failed = False

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if not self.failed and any("output" in item for item in items):
            self.failed = True
            raise OSError("disk full")
        await super().add_items(items)


@pytest.mark.parametrize("run", [plainly, streamed])
def test_a_session_that_lost_the_call_is_not_the_guards_memory(
    run: Any, world: World, tmp_path: Path
) -> None:
    """B17: the tool ran, the session failed to note it, and a fresh run asks again."""
    session = Forgetful("s1", tmp_path / "session.db")
    with pytest.raises(OSError, match="disk full"):
        go(agent_of(guard_of(world), asks(C1)), run, session=session)
    assert len(world.effects) == 1
    fresh = SQLiteSession("s1", tmp_path / "session.db")
    again = C1._replace(id="c9")
    result = go(agent_of(guard_of(world), asks(again)), run, session=fresh)
    assert told(result, again) == DONE
    assert world.requests == len(world.effects) == 1


def test_another_process_with_the_same_session_replays(tmp_path: Path) -> None:
    program = Path(__file__).with_name("openai_agents_killed.py")
    steps = [
        subprocess.run(
            [sys.executable, str(program), str(tmp_path), step],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for step in ("kill", "again")
    ]
    assert [step.returncode for step in steps] == [9, 0], steps[1].stderr
    assert json.loads(steps[1].stdout) == ["{'id': 'ch_1'}"]
    assert len((tmp_path / "effects.jsonl").read_text().splitlines()) == 1


def test_a_custom_tool_object_is_copied_as_what_it_is(world: World) -> None:
    class Till(FunctionTool):
        def __init__(self) -> None:
            super().__init__("charge", "", tools_of(world)[0].params_json_schema, self.ring)

        async def ring(self, context: Any, arguments: str) -> Any:
            return world.charge(**json.loads(arguments))

    guard = guard_of(world, [Till()])
    assert isinstance(guard.tools[0], Till)
    result = go(agent_of(guard, asks(C1), asks(C2)))
    assert told(result, C1) == told(result, C2) == DONE
    assert world.requests == 1
    assert unresolved_in(result) == []


def test_importing_the_adapter_imports_no_other_sdk() -> None:
    code = (
        "import sys, retry_guard_openai_agents;"
        "print([n for n in ('anthropic', 'langchain', 'langgraph', 'crewai') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_goes_on_after_the_guard_spoke(world: World) -> None:
    world.fates.append("lost_ack")
    model = ScriptedModel([asks(C1), [assistant_message("It is uncertain.")]])
    agent = Agent(name="clerk", model=model, tools=list(guard_of(world).tools))
    assert go(agent).final_output == "It is uncertain."
    assert QUIET.tracing_disabled
    model.assert_complete()
