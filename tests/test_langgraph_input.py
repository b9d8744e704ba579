"""What is put into the guard, what comes out of tools, and whose calls they are."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolArg, tool

from adapter_suite import C1, C2, CONTRACTS, Call, World
from confirm_school import CONFIRM
from guards import KEYED, LISTED, PLAIN, changed
from langgraph_agents import (
    asks,
    awaited,
    every_run,
    graph_of,
    guard_of,
    human,
    told,
    tools_of,
)
from retry_guard import Contract, UsageError
from retry_guard_contracts import Key
from retry_guard_langgraph import GuardMiddleware, sent_headers


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Parts that do not fit


def made(world: World, **options: Any) -> GuardMiddleware:
    return guard_of(world, options.pop("tools", tools_of(world)), **options)


def test_a_contract_for_a_tool_that_the_agent_lacks_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match=r"'refund', but the tools are: charge, list_charges"):
        made(world, contracts=[Contract(tool="refund")])


def test_a_preview_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    two_phase = changed(PLAIN, confirm={**CONFIRM, "preview": "preview_charge"})
    with pytest.raises(UsageError, match="charge is previewed by 'preview_charge': add it"):
        made(world, contracts=[two_phase])


@pytest.mark.parametrize("given", [5, None, PLAIN, [PLAIN, "charge"]])
def test_what_is_no_contract_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="contracts: "):
        made(world, contracts=given)


def test_two_tools_with_one_name_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="two are named 'charge'"):
        made(world, tools=[*tools_of(world), *tools_of(world)])


def test_a_tool_that_takes_no_key_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="charge must take the parameter 'key'"):
        made(world, contracts=[KEYED])


def test_a_read_back_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    contract = changed(PLAIN, read_back=LISTED)
    with pytest.raises(UsageError, match="read back by 'list_charges'"):
        made(world, contracts=[contract], tools=tools_of(world)[:1])
    made(world, contracts=[contract], tools=tools_of(world)[:1], read=world.read)


@pytest.mark.parametrize("given", [5, "charge", None])
def test_what_is_no_tool_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="give tools or functions"):
        made(world, tools=[given])


def test_what_calls_a_tool_again_is_refused_as_a_tool(world: World) -> None:
    with pytest.raises(UsageError, match="would send it blindly"):
        made(world, tools=[tools_of(world)[0].with_retry()])


def test_an_unknown_tool_that_pauses_first_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="no tool 'chargee'"):
        made(world, pauses_first=["chargee"])


def test_parts_that_must_be_awaited_are_refused_where_nobody_awaits(world: World) -> None:
    async def ask(question: object) -> None:
        await asyncio.sleep(0)

    tools = tools_of(world)
    guard = guard_of(world, tools, ask=ask)
    with pytest.raises(UsageError, match="ask must be awaited: run the agent's async form"):
        graph_of("agent", guard, tools, asks(C1)).invoke(human("h1"))
    assert world.requests == 0
    awaited(graph_of("agent", guard, tools, asks(C1)), human("h1"))
    assert world.requests == 1


def test_an_effect_outside_of_a_guarded_node_is_refused(world: World) -> None:
    charge = guard_of(world, contracts=[]).effect(Contract(tool="charge"))(world.charge)
    with pytest.raises(UsageError, match=r"outside of a @guard\.node function"):
        charge("c1", 1)
    assert world.requests == 0


# Whose call it is


def user_of(config: Any) -> Any:
    return config["configurable"]["user"]


def test_users_who_share_a_process_share_no_record(world: World) -> None:
    tools = tools_of(world)
    guard = guard_of(world, tools, scope=user_of)
    for user in ("ann", "bob", "ann"):
        graph = graph_of("agent", guard, tools, asks(C1))
        graph.invoke(human("h1"), {"configurable": {"user": user}})
    assert len(world.effects) == 2
    assert len(world.ledger().list("ann")) == len(world.ledger().list("bob")) == 1


@pytest.mark.parametrize("user", [None, "", 5, "missing"])
def test_a_run_that_does_not_say_who_it_is_for_sends_nothing(user: Any, world: World) -> None:
    tools = tools_of(world)
    guard = guard_of(world, tools, scope=user_of)
    config = {"configurable": {} if user == "missing" else {"user": user}}
    with pytest.raises(UsageError, match="scope"):
        graph_of("agent", guard, tools, asks(C1)).invoke(human("h1"), config)
    assert world.requests == 0


@every_run
def test_the_turn_is_the_last_message_of_the_person_by_its_id(run: Any, world: World) -> None:
    tools = tools_of(world)
    given = [HumanMessage("Do it.", id="h1"), AIMessage("Sure?"), HumanMessage("Do it.", id="h2")]
    for messages in (given[:1], given, given[:1], given):
        run(graph_of("agent", guard_of(world, tools), tools, asks(C1)), {"messages": messages})
    assert [record.turn for record in world.ledger().list("acme")] == ["h1", "h2"]
    assert len(world.effects) == 2


@every_run
@pytest.mark.parametrize("guarded", [False, True])
def test_an_agent_inside_a_tool_acts_in_the_turn_of_the_root(
    guarded: bool, run: Any, world: World
) -> None:
    tools = tools_of(world)
    inner = graph_of("agent", guard_of(world, tools), tools, asks(C1), asks(C1))

    @tool
    def delegate(times: int) -> str:
        """Let another agent do it."""
        inner.invoke({"messages": [HumanMessage("Charge c1.")]})
        return "done"

    outer = [asks(Call(f"d{n}", {"times": n}, "delegate")) for n in (1, 2)]
    contracts = [world.contract, *[Contract(tool="delegate")] * guarded]
    guard = guard_of(world, [*tools, delegate], contracts=contracts)
    run(graph_of("agent", guard, [*tools, delegate], *outer), human("root"))
    charges = [record for record in world.ledger().list("acme") if record.tool == "charge"]
    assert [record.turn for record in charges] == ["root"]
    assert len(world.effects) == 1


def test_call_ids_are_no_identity(world: World) -> None:
    tools = tools_of(world)
    for call in (C1, C1._replace(id="other"), C2._replace(id="c1")):
        graph_of("agent", guard_of(world, tools), tools, asks(call)).invoke(human("h1"))
    assert [effect["amount"] for effect in world.effects] == [1, 2]


# Keys


@every_run
def test_a_key_reaches_a_parameter_that_the_model_does_not_see(run: Any, world: World) -> None:
    keys = list[str | None]()

    @tool
    def charge(
        customer: str, amount: int, key: Annotated[str | None, InjectedToolArg] = None
    ) -> dict[str, Any]:
        """Charge a customer."""
        keys.append(key)
        return world.charge(customer, amount, key)

    world.fates.append("lost_ack")
    guard = guard_of(world, [charge], contracts=[KEYED])
    ends = told(run(graph_of("agent", guard, [charge], asks(C1)), human("h1"))["messages"])
    assert ends["c1"].content == {"id": "ch_1"}
    assert len(keys) == 2
    assert keys[0]
    assert keys[0] == keys[1]
    assert len(world.effects) == 1


@every_run
@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_a_key_that_a_model_invents_is_refused(mode: str, run: Any, world: World) -> None:
    """Otherwise another turn with the same one would get the first one's result."""

    @tool
    def charge(
        customer: str, amount: int, key: Annotated[str | None, InjectedToolArg] = None
    ) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount, key)

    given = C1._replace(arguments={**C1.arguments, "key": "charge-1"})
    for turn in ("h1", "h2"):
        guard = guard_of(world, [charge], contracts=[KEYED], mode=mode)
        ends = told(run(graph_of("agent", guard, [charge], asks(given)), human(turn))["messages"])
        refused = ends["c1"].content == "charge: key is not to be given; nothing was sent"
        assert refused == (mode == "guard")
    assert bool(world.requests) == (mode == "observe")


@every_run
def test_a_key_that_travels_as_a_header_reaches_the_body_of_the_tool(
    run: Any, world: World
) -> None:
    keys = list[str]()

    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        keys.append(sent_headers()["Idempotency-Key"])
        return world.charge(customer, amount, keys[-1])

    world.fates.append("lost_ack")
    key = Key(param="header:Idempotency-Key", retention=3600.0)
    guard = guard_of(world, [charge], contracts=[Contract(tool="charge", key=key)])
    run(graph_of("agent", guard, [charge], asks(C1)), human("h1"))
    assert len(keys) == 2
    assert len(set(keys)) == len(world.effects) == 1
    with pytest.raises(UsageError, match="outside of a tool's run"):
        sent_headers()


# What tools return


def numbers() -> Iterator[int]:
    yield 1


UNKEPT: dict[str, Callable[[], object]] = {
    "generator": numbers,
    "open file": Path(__file__).open,
    "20 MB": lambda: "x" * 20_000_000,
    "lone surrogate": lambda: "\ud800",
}


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
@every_run
@pytest.mark.parametrize("kind", UNKEPT)
@pytest.mark.parametrize("place", ["content", "artifact"])
@pytest.mark.parametrize("harness", ["agent", "node"])
def test_a_result_that_cannot_be_kept_reaches_its_caller_and_nothing_runs_twice(
    harness: Any, place: str, kind: str, run: Any, world: World
) -> None:
    made = list[object]()

    @tool(response_format="content_and_artifact")
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        world.charge(customer, amount)
        made.append(UNKEPT[kind]())
        return (made[-1], None) if place == "content" else ("fine", made[-1])

    first, second = [
        run(graph_of(harness, guard_of(world, [charge]), [charge], asks(C1)), human("h1"))
        for _ in range(2)
    ]
    message = next(m for m in first["messages"] if isinstance(m, ToolMessage))
    if place == "artifact":
        assert message.artifact is made[0]
    else:
        assert message.content == (made[0] if isinstance(made[0], str) else str(made[0]))
    assert len(world.effects) == len(made) == 1
    (record,) = world.ledger().list("acme")
    assert record.state == "done"
    again = next(m for m in second["messages"] if isinstance(m, ToolMessage))
    assert again.status == "success"
    if isinstance(made[0], TextIOWrapper):
        made[0].close()


@every_run
@pytest.mark.parametrize(
    "value",
    ["text", "", {"a": [1, 2.5, None]}, [{"type": "text", "text": "block"}], 5, None, ("a", 1)],
)
def test_a_replay_is_the_tools_own_result_block_for_block(
    value: object, run: Any, world: World
) -> None:
    @tool
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        world.charge(customer, amount)
        return value

    messages = list[ToolMessage]()
    for name in ("c1", "c2"):
        graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(C1._replace(id=name)))
        end = run(graph, human("h1"))
        messages += [m for m in end["messages"] if isinstance(m, ToolMessage)]
    first, second = messages
    assert first.additional_kwargs == {}
    assert second.additional_kwargs["retry_guard"]["replayed"] is True
    assert (first.tool_call_id, second.tool_call_id) == ("c1", "c2")
    same = ("content", "artifact", "status", "name", "response_metadata")
    assert [getattr(first, name) for name in same] == [getattr(second, name) for name in same]
    assert len(world.effects) == 1


def test_an_object_with_a_text_of_its_own_is_shown_again_as_it_was(world: World) -> None:
    class Receipt:
        def __str__(self) -> str:
            return "Receipt no. 1"

    @tool
    def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        world.charge(customer, amount)
        return Receipt()

    for _ in range(2):
        graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(C1))
        assert told(graph.invoke(human("h1"))["messages"])["c1"].content == "Receipt no. 1"
    assert len(world.effects) == 1


def test_arguments_that_cannot_be_named_are_told_to_the_model(world: World) -> None:
    tools = tools_of(world)
    odd = C1._replace(arguments={"customer": "\ud800", "amount": 1})
    ends = told(
        graph_of("agent", guard_of(world, tools), tools, asks(odd)).invoke(human("h1"))["messages"]
    )
    assert "surrogate" in str(ends["c1"].content)
    assert world.requests == 0


@every_run
@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_guard_that_only_looks_on_changes_nothing(mode: str, run: Any, world: World) -> None:
    tools = tools_of(world)
    guard = guard_of(world, tools, mode=mode)
    graph = graph_of("agent", guard, tools, asks(C1), asks(C1._replace(id="c2")))
    ends = told(run(graph, human("h1"))["messages"])
    assert [end.content for end in ends.values()] == [{"id": "ch_1"}, {"id": "ch_2"}]
    world.fates.append("lost_ack")
    with pytest.raises(TimeoutError):
        run(graph_of("agent", guard, tools, asks(C2)), human("h1"))


@every_run
def test_tools_without_a_contract_run_as_before(run: Any, world: World) -> None:
    tools = tools_of(world)
    guard = guard_of(world, tools, contracts=[])
    run(graph_of("agent", guard, tools, asks(C1), asks(C1)), human("h1"))
    assert len(world.effects) == 2
    assert world.ledger().list("acme") == []


def test_a_tool_that_the_harness_does_not_know_is_told_as_before(world: World) -> None:
    tools = tools_of(world)
    graph = graph_of("node", guard_of(world, tools), tools[1:], asks(C1))
    end = graph.invoke(human("h1"))
    assert "charge is not a valid tool" in str(told(end["messages"])["c1"].content)
    assert world.requests == 0


def test_the_adapter_imports_no_other_sdk() -> None:
    code = (
        "import sys, retry_guard_langgraph\n"
        "others = {'openai', 'anthropic', 'agents', 'mcp', 'fastmcp', 'crewai', 'pydantic_ai'}\n"
        "ours = {'retry_guard_sandbox', 'retry_guard_console', 'retry_guard_httpx'}\n"
        "print(sorted((others | ours) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
