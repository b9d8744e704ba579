"""What is put into the guard, what comes out of tools, and whose calls they are."""

import asyncio
import dataclasses
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
    WebSearchTool,
    function_tool,
)
from agents.items import TResponseInputItem
from agents.testing import ScriptedModel, assistant_message, function_call

from adapter_suite import CONTRACTS, Call, World
from guards import KEYED, LISTED, PLAIN, Flaky, changed
from openai_agents_runs import (
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
from retry_guard import AsyncGuard, Contract, UsageError
from retry_guard_contracts import Key
from retry_guard_openai_agents import AgentGuard, sent_headers, unresolved_in

C1 = Call("c1", {"customer": "c1", "amount": 1})
C2 = Call("c2", {"customer": "c1", "amount": 1})
DONE = ("done", {"id": "ch_1"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Parts that do not fit


def test_a_contract_for_a_tool_that_the_agent_lacks_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match=r"'refund', but the tools are: charge, list_charges"):
        guard_of(world, contracts=[Contract(tool="refund")])


def test_two_tools_with_one_name_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="two are named 'charge'"):
        guard_of(world, [*tools_of(world), *tools_of(world)])


def test_a_tool_that_takes_no_key_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="charge must take the parameter 'key'"):
        guard_of(world, contracts=[KEYED])


def test_a_read_back_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    contract = changed(PLAIN, read_back=LISTED)
    with pytest.raises(UsageError, match="read back by 'list_charges'"):
        guard_of(world, tools_of(world)[:1], contracts=[contract])
    guard_of(world, tools_of(world)[:1], contracts=[contract], read=world.read)


def test_a_contract_for_what_the_sdk_runs_itself_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="web_search is run by the SDK or the model's host"):
        guard_of(world, [WebSearchTool()], contracts=[Contract(tool="web_search")])
    assert guard_of(world, [WebSearchTool()], contracts=[]).tools == [WebSearchTool()]


def test_a_contract_for_an_agent_is_refused(world: World) -> None:
    tool: Any = Agent(name="clerk").as_tool("charge", "Charge.")
    with pytest.raises(UsageError, match="charge runs an agent: give contracts for the tools"):
        guard_of(world, [tool])


@pytest.mark.parametrize("given", [5, None, len])
def test_what_is_no_tool_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="give tools of the SDK"):
        guard_of(world, [given])


@pytest.mark.parametrize("given", [{"scope": ""}, {"scope": None}, {"scope": 5}, {"turn": ""}])
def test_a_scope_or_turn_that_names_nobody_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="give text, or a function of the run's context"):
        guard_of(world, **given)


def test_a_tool_that_still_hides_its_errors_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be with a release of the SDK that has no such switch."""

    def keep(_: FunctionTool) -> None:
        """Switch nothing off."""

    monkeypatch.setattr("retry_guard_openai_agents._sdk.no_failure_text", keep)
    with pytest.raises(UsageError, match="charge hides its errors: make it with failure_error"):
        guard_of(world)


# Whose call it is


@dataclass
class User:
    account: Any
    message: Any = "m1"


def by_user(world: World, **options: Any) -> AgentGuard:
    def account(user: User) -> Any:
        return user.account

    def message(user: User) -> Any:
        return user.message

    return guard_of(world, scope=account, turn=message, **options)


def test_users_who_share_a_process_share_no_record(world: World) -> None:
    guard = by_user(world)
    for account in ("ann", "bob", "ann"):
        go(agent_of(guard, asks(C1)), context=User(account))
    assert len(world.effects) == 2
    assert len(world.ledger().list("ann")) == len(world.ledger().list("bob")) == 1


@pytest.mark.parametrize("context", [None, User(None), User(""), User(5), {"account": "ann"}])
def test_a_run_that_does_not_say_who_it_is_for_sends_nothing(context: Any, world: World) -> None:
    with pytest.raises(UserError, match=r"Error running tool charge: scope: .*nothing sent"):
        go(agent_of(by_user(world), asks(C1)), context=context)
    assert world.requests == 0


def test_each_message_of_a_user_is_a_turn(world: World) -> None:
    guard = by_user(world)
    runs = [
        go(agent_of(guard, asks(C1)), context=User("ann", message))
        for message in ("m1", "m1", "m2")
    ]
    assert [told(run, C1) for run in runs] == [DONE, DONE, ("done", {"id": "ch_2"})]
    assert "shortly before" in note_of(runs[2], C1)["warning"]


def test_without_a_turn_time_decides(world: World) -> None:
    runs = [go(agent_of(guard_of(world, turn=None), asks(C1))) for _ in range(2)]
    assert [told(run, C1) for run in runs] == [DONE, DONE]


@pytest.mark.parametrize("message", ["", 5])
def test_a_turn_that_cannot_be_one_sends_nothing(message: Any, world: World) -> None:
    with pytest.raises(UserError, match="turn: must give text"):
        go(agent_of(by_user(world), asks(C1)), context=User("ann", message))
    assert world.requests == 0


def test_a_turn_that_was_opened_around_the_run_counts(world: World) -> None:
    async def twice() -> list[Any]:
        guard, runs = guard_of(world, turn=pytest.fail), list[Any]()
        for turn in ("t1", "t2"):
            with AsyncGuard.turn("acme", turn):
                runs.append(await plainly(agent_of(guard, asks(C1))))
        return runs

    assert [told(run, C1)[1] for run in asyncio.run(twice())] == [{"id": "ch_1"}, {"id": "ch_2"}]


def test_an_agent_as_a_tool_and_a_handoff_act_in_the_turn_of_the_run(world: World) -> None:
    guard = by_user(world)
    inner = agent_of(guard, asks(C1))
    third = agent_of(guard, asks(C1))
    tools: list[Any] = [inner.as_tool("clerk", "Charge."), *guard.tools]
    calls = [
        [function_call("clerk", {"input": "Charge c1."}, call_id="o1")],
        asks(C2),
        [function_call("transfer_to_clerk", {}, call_id="o2")],
    ]
    outer = Agent(name="desk", model=ScriptedModel(calls), tools=tools, handoffs=[third])
    result = go(outer, context=User("ann"))
    assert result.last_agent is third
    assert (told(result, C2), told(result, C1)) == (DONE, DONE)
    assert world.requests == len(world.effects) == 1


# Arguments


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}"])
def test_blank_arguments_are_none(arguments: str, world: World) -> None:
    """B27: models write it so in a stream where a tool takes nothing."""
    ran: list[int] = []

    @function_tool
    def ping() -> str:
        """Ping."""
        ran.append(1)
        return "pong"

    guard = guard_of(world, [ping], contracts=[Contract(tool="ping")])
    calls: list[Any] = [[function_call("ping", {}, call_id=name)] for name in ("c1", "c2")]
    calls[0][0].arguments = arguments
    result = go(agent_of(guard, *calls))
    assert [text_of(result, Call(name, {})) for name in ("c1", "c2")] == ["pong", "pong"]
    assert ran == [1]


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", '"x"', '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_what_is_no_object_is_one_clear_line_and_sends_nothing(
    arguments: str, world: World
) -> None:
    call = asks(C1)
    call[0].arguments = arguments
    result = go(agent_of(guard_of(world), call))
    assert text_of(result, C1).startswith("charge: ")
    assert text_of(result, C1).endswith("; nothing was sent")
    assert world.requests == 0


def test_arguments_that_do_not_fit_prove_that_nothing_ran(world: World) -> None:
    bad = Call("c0", {"customer": "c1", "amount": "many"})
    result = go(agent_of(guard_of(world), asks(bad), asks(C1)))
    assert text_of(result, bad).startswith("nothing was executed: Invalid JSON input for tool")
    assert told(result, C1) == DONE
    assert {record.state for record in world.ledger().list("acme")} == {"not_executed", "done"}


def test_a_body_that_raises_the_sdks_own_error_has_run(world: World) -> None:
    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Charge, and hand on what an inner tool says of its arguments."""
        world.charge(customer, amount)
        inner = dataclasses.replace(tools_of(world)[0])
        from agents.tool import set_function_tool_failure_error_function
        from agents.tool_context import ToolContext

        set_function_tool_failure_error_function(inner, None)
        context: Any = ToolContext(
            context=None, tool_name="charge", tool_call_id="x", tool_arguments="{"
        )
        await inner.on_invoke_tool(context, "{")
        return "never"

    result = go(agent_of(guard_of(world, [charge]), asks(C1)))
    assert told(result, C1).kind == "unresolved"


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
