"""The harmful defaults of the SDK, switched on: nothing happens twice, nothing invites a repeat."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import (
    FunctionTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    RunConfig,
    UserError,
    function_tool,
)
from agents.run_config import ToolErrorFormatterArgs
from agents.tool_context import ToolContext

from adapter_suite import C1, C2, CONTRACTS, Call, World
from guards import changed
from openai_agents_runs import (
    OPEN,
    agent_of,
    asks,
    every_run,
    go,
    guard_of,
    note_of,
    outputs,
    plainly,
    text_of,
    told,
    tools_of,
)
from retry_guard import Contract, UsageError
from retry_guard_openai_agents import unresolved_in

Run = Callable[..., Any]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def mine(_: Any) -> dict[str, int]:
    return {"mine": 1}


async def until_charged(world: World) -> None:
    while not world.effects:  # noqa: ASYNC110 - a world tells nobody
        await asyncio.sleep(0.005)


def again(call: Call, name: str) -> Call:
    """The same call, as a model emits it anew."""
    return call._replace(id=name)


# The text for a failed tool


@every_run
def test_a_lost_answer_reads_as_unknown_and_is_not_sent_again(run: Run, world: World) -> None:
    world.fates.append("lost_ack")
    guard = guard_of(world)
    second = again(C1, "c9")
    result = go(agent_of(guard, asks(C1), asks(second)), run)
    for call in (C1, second):
        assert text_of(result, call).startswith(OPEN)
        assert "try again" not in text_of(result, call).casefold()
    assert world.requests == len(world.effects) == 1
    assert [each.tool for each in unresolved_in(result)] == ["charge", "charge"]


def test_without_the_guard_the_text_invites_a_repeat(world: World) -> None:
    world.fates.append("lost_ack")
    second = again(C1, "c9")
    result = go(agent_of(guard_of(world, contracts=[]), asks(C1), asks(second)))
    assert "Please try again" in text_of(result, C1)
    assert len(world.effects) == 2


def refusing(error: Exception, **options: Any) -> FunctionTool:
    def charge(customer: str, amount: int) -> str:
        """Charge a customer."""
        raise error

    made: FunctionTool = function_tool(charge, **options)
    return made


REFUSED = ConnectionRefusedError("host 10.0.0.7")


@pytest.mark.parametrize("own", [None, "Nothing was charged."])
def test_what_did_not_run_reads_as_the_application_wants_it(own: str | None, world: World) -> None:
    def tell_own(*_: object) -> str | None:
        return own

    options: dict[str, Any] = {} if own is None else {"failure_error_function": tell_own}
    guard = guard_of(world, [refusing(REFUSED, **options)])
    result = go(agent_of(guard, asks(C1)))
    assert text_of(result, C1) == (own or "nothing was executed: ConnectionRefusedError")
    assert unresolved_in(result) == []


def test_what_did_not_run_reads_as_the_run_wants_it(world: World) -> None:
    def formatted(given: ToolErrorFormatterArgs[Any]) -> str:
        return f"{given.tool_name}: {given.error}"

    config = RunConfig(tracing_disabled=True, tool_error_formatter=formatted)
    result = go(agent_of(guard_of(world, [refusing(REFUSED)]), asks(C1)), run_config=config)
    assert text_of(result, C1) == f"charge: {REFUSED}"


def test_what_did_not_run_ends_the_run_where_the_tool_wants_that(world: World) -> None:
    guard = guard_of(world, [refusing(REFUSED, failure_error_function=None)])
    with pytest.raises(UserError, match="Error running tool charge: host") as caught:
        go(agent_of(guard, asks(C1)))
    assert caught.value.__cause__ is REFUSED


def test_a_tool_that_raises_ends_no_run_while_its_outcome_is_unknown(world: World) -> None:
    world.fates.append("lost_ack")
    guard = guard_of(world, tools_of(world, failure_error_function=None))
    assert text_of(go(agent_of(guard, asks(C1))), C1).startswith(OPEN)


def test_a_wrapper_that_hides_the_error_in_the_text_is_unknown(world: World) -> None:
    """It invokes a decorated tool, whose own text for a failure comes back as a result."""
    world.fates.append("lost_ack")
    inner, other = tools_of(world)

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        return await inner.on_invoke_tool(context, arguments)

    wrapper = FunctionTool("charge", "", inner.params_json_schema, invoke)
    result = go(agent_of(guard_of(world, [wrapper, other]), asks(C1)))
    assert told(result, C1).kind == "unresolved"


# Time-outs and cancellations


def slow(world: World, seconds: float) -> Callable[..., Any]:
    async def charge(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        """Charge a customer, and answer late."""
        result = world.charge(customer, amount, key or None)
        if world.requests == 1:
            await asyncio.sleep(seconds)
        return result

    return charge


def tell(*_: object) -> str:
    return "Too slow. Please try again."


@every_run
@pytest.mark.parametrize("behavior", [{}, {"timeout_error_function": tell}])
def test_a_time_out_reads_as_unknown(behavior: Any, run: Run, world: World) -> None:
    tool = function_tool(slow(world, 5.0), timeout=0.05, **behavior)
    second = again(C1, "c9")
    result = go(agent_of(guard_of(world, [tool]), asks(C1), asks(second)), run)
    assert text_of(result, C1).startswith(OPEN)
    assert text_of(result, second).startswith(OPEN)
    assert world.requests == 1


def test_a_time_out_that_ends_runs_ends_none_while_the_outcome_is_unknown(world: World) -> None:
    tool = function_tool(slow(world, 5.0), timeout=0.05, timeout_behavior="raise_exception")
    assert text_of(go(agent_of(guard_of(world, [tool]), asks(C1))), C1).startswith(OPEN)


def test_what_follows_a_time_out_is_no_part_of_its_time(tmp_path: Path) -> None:
    """A time-out bounds a send: the guard still asks again with the same key, and gets it."""
    world = World(CONTRACTS["key"], tmp_path)
    tool = function_tool(slow(world, 5.0), timeout=0.05)
    result = go(agent_of(guard_of(world, [tool]), asks(C1)))
    assert told(result, C1) == ("done", {"id": "ch_1"})
    assert (world.requests, len(world.effects)) == (2, 1)


def test_a_cancellation_that_nobody_asked_for_is_unknown(world: World) -> None:
    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Charge a customer, and end oddly."""
        world.charge(customer, amount)
        raise asyncio.CancelledError

    result = go(agent_of(guard_of(world, [charge]), asks(C1)))
    assert text_of(result, C1).startswith(OPEN)


def test_a_run_that_is_cancelled_leaves_what_the_next_one_meets(world: World) -> None:
    tool = function_tool(slow(world, 5.0))

    async def cancelled() -> None:
        run = asyncio.ensure_future(plainly(agent_of(guard_of(world, [tool]), asks(C1))))
        await until_charged(world)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.sleep(0.05)

    asyncio.run(cancelled())
    result = go(agent_of(guard_of(world, [tool]), asks(C2), asks(again(C1, "c9"))))
    assert told(result, C2).kind == "done"
    assert text_of(result, again(C1, "c9")).startswith(OPEN)
    assert [effect["amount"] for effect in world.effects] == [1, 2]


def test_an_attempt_lasts_as_long_as_its_thread(world: World) -> None:
    """A cancelled run leaves its thread behind, and the thread still charges."""
    begun, gate = threading.Event(), threading.Event()

    @function_tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, late."""
        begun.set()
        gate.wait(60)
        return world.charge(customer, amount)

    async def cancelled() -> Any:
        guard = guard_of(world, [charge])
        run = asyncio.ensure_future(plainly(agent_of(guard, asks(C1))))
        await asyncio.to_thread(begun.wait)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        asyncio.get_running_loop().call_later(0.2, gate.set)
        return await plainly(agent_of(guard, asks(C1)))

    result = asyncio.run(cancelled())
    assert told(result, C1) == ("done", {"id": "ch_1"})
    assert world.requests == len(world.effects) == 1


# Calls beside each other, guardrails, turns without end


@every_run
def test_parallel_calls_run_beside_each_other(run: Run, world: World) -> None:
    beside, both = set[str](), asyncio.Event()

    @function_tool
    async def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer when both are there."""
        beside.add(customer)
        if len(beside) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 60)
        return world.charge(customer, amount)

    result = go(agent_of(guard_of(world, [charge]), asks(C1, C2)), run)
    assert {told(result, call).kind for call in (C1, C2)} == {"done"}
    assert len(world.effects) == 2


@every_run
def test_a_call_that_a_message_holds_twice_runs_once(run: Run, world: World) -> None:
    """B20, B22, B25: under one id the SDK shows one result, under two ids the second joins."""
    twin = again(C1, "c2")
    result = go(agent_of(guard_of(world), asks(C1, C1, twin)), run)
    assert told(result, C1) == told(result, twin) == ("done", {"id": "ch_1"})
    assert world.requests == len(world.effects) == 1


def test_the_sibling_of_a_call_that_ends_the_run_is_not_forgotten(world: World) -> None:
    @function_tool(failure_error_function=None)
    async def explode() -> str:
        """Fail once the charge is made."""
        await until_charged(world)
        raise ValueError("boom")

    tools = [function_tool(slow(world, 0.5)), explode]
    with pytest.raises(UserError, match="boom"):
        go(agent_of(guard_of(world, tools), asks(C1, Call("c2", {}, "explode"))))
    result = go(agent_of(guard_of(world, tools), asks(C1)))
    assert told(result, C1).kind == "unresolved"
    assert len(world.effects) == 1


@every_run
@pytest.mark.parametrize("seconds", [0.0, 0.6], ids=["acted", "acting"])
def test_a_guardrail_that_trips_beside_a_tool_forgets_nothing(
    seconds: float, run: Run, world: World
) -> None:
    """B18: the tool acts first, then the guardrail trips; the prompt is cleaned and sent again.

    A tool that is still at work is cut off, but for streamed runs, which wait for its end.
    """
    tool = function_tool(slow(world, seconds))

    async def trip(*_: object) -> GuardrailFunctionOutput:
        await until_charged(world)
        await asyncio.sleep(0.1)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = agent_of(guard_of(world, [tool]), asks(C1), asks(again(C1, "c5")))
    agent.input_guardrails = [InputGuardrail(guardrail_function=trip)]
    with pytest.raises(InputGuardrailTripwireTriggered):
        go(agent, run, given="Charge them, you fool.")
    assert len(world.effects) == 1
    result = go(agent_of(guard_of(world, [tool]), asks(again(C1, "c9"))), run)
    cut_off = seconds > 0 and run is plainly
    assert told(result, again(C1, "c9")).kind == ("unresolved" if cut_off else "done")
    assert world.requests == len(world.effects) == 1


def test_a_run_that_takes_too_many_turns_keeps_what_it_did(world: World) -> None:
    calls = [asks(again(C1, f"c{n}")) for n in range(3)]
    with pytest.raises(MaxTurnsExceeded):
        go(agent_of(guard_of(world), *calls), max_turns=2)
    assert told(go(agent_of(guard_of(world), asks(C1))), C1) == ("done", {"id": "ch_1"})
    assert len(world.effects) == 1


def test_a_replay_is_marked_where_no_model_looks(world: World) -> None:
    guard = guard_of(world)
    first, second = (go(agent_of(guard, asks(again(C1, name)))) for name in ("c1", "c2"))
    assert text_of(first, C1) == text_of(second, again(C1, "c2")) == "{'id': 'ch_1'}"
    assert note_of(first, C1) == {}
    assert note_of(second, again(C1, "c2")) == {"replayed": True, "warning": None}


def test_the_applications_own_data_stays_beside_the_note(world: World) -> None:
    world.fates.append("lost_ack")
    tools = tools_of(world, custom_data_extractor=mine)
    result = go(agent_of(guard_of(world, tools), asks(C1, C2)))
    data = [outputs(result)[call.id].custom_data or {} for call in (C1, C2)]
    assert [each["mine"] for each in data] == [1, 1]
    assert sorted("retry_guard" in each for each in data) == [False, True]


def test_a_twin_that_counts_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="`twins: count` needs the other calls"):
        guard_of(world, contracts=[changed(world.contract, twins="count")])


def test_a_tool_without_a_contract_is_as_before(world: World) -> None:
    other = refusing(REFUSED)
    guard = guard_of(world, [other], contracts=[])
    assert guard.tools == [other]
    assert guard.tools[0] is other
    guard = guard_of(world, [other], contracts=[Contract(tool="charge", effect="read")])
    assert guard.tools[0] is other


def test_observing_changes_nothing_that_is_seen(world: World) -> None:
    tool = function_tool(slow(world, 5.0), timeout=0.05)
    guard = guard_of(world, [tool], mode="observe")
    result = go(agent_of(guard, asks(C1), asks(again(C1, "c2"))))
    assert text_of(result, C1) == "Tool 'charge' timed out after 0.05 seconds."
    assert told(result, again(C1, "c2")) == ("done", {"id": "ch_2"})
    world.fates.append("lost_ack")
    result = go(agent_of(guard_of(world, mode="observe"), asks(C2)))
    assert "Please try again" in text_of(result, C2)
    assert guard_of(world, [tool], mode="off").tools[0] is tool
