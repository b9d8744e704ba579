"""What the application learns of runs: of agents inside agents, and of those that fail."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, UserError, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from adapter_suite import CONTRACTS, Call, World
from guards import LISTED, PLAIN, Flaky, changed
from openai_agents_runs import (
    OPEN,
    agent_of,
    asks,
    go,
    guard_of,
    outputs,
    plainly,
    streamed,
    text_of,
    told,
    tools_of,
)
from openai_agents_tills import guarded, till
from retry_guard import Answer, LedgerError, UsageError, question_of
from retry_guard_ledgers import MemoryLedger
from retry_guard_openai_agents import AgentGuard, unresolved_in

C1 = Call("c1", {"customer": "c1", "amount": 1})
A1 = C1._replace(id="c8")
ContextOfRun = RunContextWrapper[Any]
OUTER = [function_call("clerk", {"input": "Charge c1."}, call_id="o1")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def outer_of(guard: AgentGuard, inner: Any) -> Agent[Any]:
    """An agent whose only tool is an inner one, of a guard that has it among its tools."""
    tools = [each for each in guard.tools if each.name == inner.name]
    model = ScriptedModel([OUTER, [assistant_message("Done.")]])
    return Agent(name="desk", model=model, tools=tools)


def nested(world: World, *says: Any, told: Any = None, **options: Any) -> tuple[AgentGuard, Any]:
    """A guard with an agent among its tools, and the agent that uses it."""
    inner = agent_of(guard_of(world, **options), *says)
    extra: dict[str, Any] = {} if told is None else {"failure_error_function": told}
    tool: Any = inner.as_tool("clerk", "Charge.", **extra)
    guard = guard_of(world, [*tools_of(world), tool], **options)
    inner.tools = [each for each in guard.tools if each.name == "charge"]
    return guard, outer_of(guard, tool)


def chain(error: BaseException | None) -> list[type[BaseException]]:
    return [] if error is None else [type(error), *chain(error.__cause__)]


def plain_text(*_: object) -> str:
    return "The clerk failed."


@pytest.mark.parametrize("given", [None, plain_text])
@pytest.mark.parametrize("fails", ["ledger", "scope"])
def test_a_guard_that_cannot_work_inside_an_agent_ends_the_run(
    fails: str, given: Any, world: World
) -> None:
    def nobody(_: Any) -> Any:
        return None

    ledger = Flaky(world.ledger())
    ledger.down.update({"claim"} if fails == "ledger" else ())
    options: dict[str, Any] = {"scope": nobody} if fails == "scope" else {"ledger": ledger}
    _, outer = nested(world, asks(C1), told=given, **options)
    with pytest.raises(UserError) as caught:
        go(outer)
    assert (LedgerError if fails == "ledger" else UsageError) in chain(caught.value)
    assert world.requests == 0


@pytest.mark.parametrize("run", [plainly, streamed])
def test_an_agent_that_fails_inside_invites_no_repeat(run: Any, world: World) -> None:
    world.fates.append("lost_ack")
    guard, outer = nested(world, asks(C1), RuntimeError("model down"))
    with guard.watch() as watched, pytest.raises(UserError, match="model down"):
        go(outer, run)
    assert [each.tool for each in watched.unresolved] == ["charge"]


def test_what_an_application_says_of_a_failed_agent_stays(world: World) -> None:
    _, outer = nested(world, RuntimeError("model down"), told=plain_text)
    assert outputs(go(outer))["o1"].output == "The clerk failed."


def test_an_agent_inside_pauses_and_goes_on(world: World) -> None:
    world.fates.append("lost_ack")
    guard, outer = nested(world, asks(C1), asks(A1), approvals=True)
    result = go(outer)
    (item,) = result.interruptions
    question = asyncio.run(guard.question(item))
    assert question is not None
    assert guard.settle(question, Answer("happened", {"id": "ch_1"}))
    state = result.to_state()
    state.approve(item)
    assert outputs(go(outer, given=state))["o1"].output == "I am done."
    assert world.requests == 1


def test_an_agent_is_left_alone_by_a_guard_that_is_off(world: World) -> None:
    tool: Any = Agent(name="clerk").as_tool("clerk", "Charge.")
    for mode in ("observe", "off"):
        assert guard_of(world, [tool], contracts=[], mode=mode).tools[0] is tool


# What was watched


@pytest.mark.parametrize("run", [plainly, streamed])
def test_a_run_that_fails_leaves_what_is_unresolved(run: Any, world: World) -> None:
    """The SDK says nothing of a run that ended with an error of the model's API."""
    world.fates.append("lost_ack")
    guard = guard_of(world)
    model = ScriptedModel([asks(C1), asks(A1), RuntimeError("model down")])
    agent = Agent(name="clerk", model=model, tools=list(guard.tools))
    with guard.watch() as watched, pytest.raises(RuntimeError, match="model down"):
        go(agent, run)
    (open_,) = watched.unresolved
    assert (open_.tool, open_.reason) == ("charge", "nothing_can_tell")


def test_what_a_later_call_settled_is_not_among_them(world: World) -> None:
    world.fates.append("lost_ack")
    guard, again = guard_of(world), Call("c8", {"customer": "c1", "amount": "1"})
    with guard.watch() as watched:
        first = go(agent_of(guard, asks(C1)))
        (open_,) = watched.unresolved
        question = question_of(world.ledger(), "acme", open_)
        assert question is not None
        assert guard.settle(question, Answer("happened", {"id": "ch_1"}))
        second = go(agent_of(guard, asks(again)))
    assert told(second, again) == ("done", {"id": "ch_1"})
    assert watched.unresolved == ()
    assert [each.tool for each in unresolved_in(first)] == ["charge"]


def test_other_guards_and_what_comes_later_are_not_watched(world: World) -> None:
    guard, other = guard_of(world), guard_of(world)
    world.fates.extend(("lost_ack",) * 2)
    with guard.watch() as watched:
        go(agent_of(other, asks(C1)))
        task = Call("c2", {"customer": "c2", "amount": 2})
    go(agent_of(guard, asks(task)))
    assert watched.unresolved == ()


def test_calls_of_servers_are_watched_too(world: World) -> None:
    world.fates.append("lost_ack")
    guard = guarded(till(world), world=world)
    with guard.watch() as watched:
        go(agent_of(guard, asks(C1), asks(A1)))
    assert len(watched.unresolved) == 1


# Who calls


def test_a_task_that_outlives_a_call_acts_for_nobody(world: World) -> None:
    """A worker that a tool started is asked later, by another user, without a run."""
    asked, begun = asyncio.Queue[Any](), list[asyncio.Task[Any]]()
    (front,) = guarded(till(world), world=world, scope=itself).mcp_servers

    async def work() -> Any:
        await asked.get()
        return await front.call_tool("charge", dict(C1.arguments))

    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Start the worker."""
        begun.append(asyncio.create_task(work()))
        return "queued"

    async def run() -> None:
        guard = guard_of(world, [charge], scope=itself)
        await plainly(agent_of(guard, asks(C1)), context="ann")
        asked.put_nowait("go")
        with pytest.raises(UsageError, match="scope: must give text"):
            await begun[0]

    asyncio.run(run())
    assert world.requests == 0


def test_a_tool_that_calls_a_server_acts_for_the_user_of_its_run(world: World) -> None:
    ledger = MemoryLedger()
    (front,) = guarded(till(world), world=world, scope=itself, ledger=ledger).mcp_servers

    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Charge through the server."""
        await front.call_tool("charge", {"customer": customer, "amount": amount})
        return "ok"

    guard = guard_of(world, [charge], scope=itself)
    assert text_of(go(agent_of(guard, asks(C1)), context="ann"), C1) == "ok"
    assert [record.tool for record in ledger.list("ann")] == ["charge"]


def test_a_read_back_knows_the_user_of_its_run(tmp_path: Path) -> None:
    world, seen = World(CONTRACTS["read-back"], tmp_path), list[Any]()
    world.fates.append("lost_ack")
    charge = tools_of(world)[0]

    @function_tool
    async def list_charges(context: ContextOfRun) -> dict[str, Any]:
        """List the charges."""
        seen.append(context.context)
        return world.list_charges()

    contract = changed(PLAIN, read_back=LISTED, in_flight_bound=0.06)
    guard = guard_of(world, [charge, list_charges], scope=itself, contracts=[contract])
    assert OPEN not in text_of(go(agent_of(guard, asks(C1)), context="ann"), C1)
    assert set(seen) == {"ann"}


def itself(user: Any) -> Any:
    return user
