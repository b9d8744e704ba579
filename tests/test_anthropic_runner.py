"""The SDK's tool runner with guarded tools: what it does by itself sends nothing twice."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapter_suite import Call, World
from anthropic_agents import (
    C1,
    C2,
    End,
    Kind,
    Runner,
    Say,
    Script,
    asks,
    async_runner_of,
    awaited,
    every_run,
    every_runner,
    results_in,
    runner_of,
    tool_use,
    toolbox_of,
    tools_of,
)
from guards import PLAIN, Flaky, Operator, changed
from retry_guard import Answer, LedgerError, UsageError
from retry_guard_anthropic import RunnerTools


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


def test_results_that_are_made_and_then_dropped_are_made_again_without_a_second_effect(
    world: World,
) -> None:
    script, responses = Script(asks(C1, C2)), list[Any]()
    guarded = RunnerTools(toolbox_of(world), scope="acme", turn="human-1")
    runner = runner_of(script, guarded, max_iterations=2)
    for message in runner:
        responses.append(runner.generate_tool_call_response())
        if responses[-1] is not None:
            runner.append_messages(message, responses[-1])
    assert world.requests == 2
    assert [each["content"] for each in responses[0]["content"]] == [
        '{"id": "ch_1"}',
        '{"id": "ch_2"}',
    ]
    assert results_in(script.heard()) == responses[0]["content"]


def test_the_same_of_an_async_runner(world: World) -> None:
    script = Script(asks(C1, C2))

    async def go() -> None:
        guarded = RunnerTools(toolbox_of(world), scope="acme", turn="human-1")
        runner = async_runner_of(script, guarded, max_iterations=2)
        async for message in runner:
            response = await runner.generate_tool_call_response()
            if response is not None:
                runner.append_messages(message, response)

    asyncio.run(go())
    assert (world.requests, len(script.sent)) == (2, 2)


@every_run
def test_what_ran_before_its_stream_broke_does_not_run_for_the_next_sample(
    run: Runner, world: World
) -> None:
    broken = Script(Say([tool_use(C1), tool_use(C2)], until="message_delta", breaks=True))
    with pytest.raises(httpx2.RemoteProtocolError):
        run("runner-eager", broken, toolbox_of(world))
    assert [effect["customer"] for effect in world.effects] == ["c1"]
    sampled = [C2._replace(id="toolu_8"), C1._replace(id="toolu_9")]
    end: End = run("runner-eager", Script(asks(*sampled)), toolbox_of(world))
    given = {each["tool_use_id"]: json.loads(each["content"]) for each in results_in(end.messages)}
    assert given == {"toolu_8": {"id": "ch_2"}, "toolu_9": {"id": "ch_1"}}
    assert world.requests == 2


@every_run
@every_runner
def test_the_model_reads_the_guards_sentence_and_the_application_has_the_record(
    kind: Kind, run: Runner, world: World
) -> None:
    world.fates.append("lost_ack")
    script = Script(asks(C1, C2), asks(C1._replace(id="toolu_7")))
    end: End = run(kind, script, toolbox_of(world))
    (unresolved,) = end.unresolved
    first, other, again = results_in(end.messages)
    assert (first["is_error"], first["content"]) == (True, unresolved.text)
    assert (again["is_error"], again["content"]) == (True, unresolved.text)
    assert other.get("is_error") is None
    assert (end.errors, len(world.effects)) == ((), 2)


@every_run
@every_runner
def test_a_ledger_that_is_down_sends_nothing_and_the_application_has_the_reason(
    kind: Kind, run: Runner, world: World
) -> None:
    ledger: Any = Flaky(world.ledger())
    toolbox = toolbox_of(world, ledger=ledger)
    ledger.down.add("claim")
    end: End = run(kind, Script(asks(C1, Call("toolu_5", {}, "list_charges"))), toolbox)
    first, read = results_in(end.messages)
    assert first["is_error"]
    assert "down" not in first["content"]
    assert "not sent" in first["content"]
    assert read.get("is_error") is None
    (error,) = end.errors
    assert isinstance(error, LedgerError)
    assert world.requests == 0


@every_run
@every_runner
def test_what_a_tool_without_a_contract_raises_is_told_without_an_invitation(
    kind: Kind, run: Runner, world: World
) -> None:
    def charge(customer: str, amount: int) -> None:
        raise RuntimeError("out of order")

    end: End = run(kind, Script(asks(C1)), toolbox_of(world, [charge], contracts=[]))
    (result,) = results_in(end.messages)
    assert result["is_error"]
    assert "again" not in result["content"]
    assert "RuntimeError(" not in result["content"]


@every_run
def test_an_operator_is_asked_and_the_answer_is_the_result(run: Runner, world: World) -> None:
    world.fates.append("lost_ack")
    operator = Operator(Answer("happened", result={"id": "ch_1"}))
    end: End = run("runner", Script(asks(C1)), toolbox_of(world, ask=operator))
    (result,) = results_in(end.messages)
    assert (result.get("is_error"), json.loads(result["content"])) == (None, {"id": "ch_1"})
    assert (len(operator.asked), end.unresolved) == (1, ())


@every_run
@every_runner
def test_calls_that_were_cut_off_are_not_run(kind: Kind, run: Runner, world: World) -> None:
    run(kind, Script(Say([tool_use(C1)], "max_tokens")), toolbox_of(world))
    assert world.requests == 0


@every_run
def test_an_eager_call_that_was_cut_off_is_not_run_and_those_before_it_are_kept(
    run: Runner, world: World
) -> None:
    run("runner-eager", Script(Say([tool_use(C1), tool_use(C2)], "max_tokens")), toolbox_of(world))
    assert [effect["customer"] for effect in world.effects] == ["c1"]
    run("runner-eager", Script(asks(C1._replace(id="toolu_9"))), toolbox_of(world))
    assert len(world.effects) == 1


def test_calls_that_each_count_are_refused_since_the_runner_does_not_tell_them_apart(
    world: World,
) -> None:
    toolbox = toolbox_of(world, contracts=[changed(PLAIN, twins="count")])
    with pytest.raises(UsageError, match=r"charge: `twins: count`, .* use run_tools"):
        RunnerTools(toolbox, scope="acme", turn="human-1")


def test_async_functions_are_refused_for_a_runner_that_blocks(world: World) -> None:
    toolbox = toolbox_of(world, tools_of(world, awaited=True))
    guarded = RunnerTools(toolbox, scope="acme", turn="human-1")
    with pytest.raises(UsageError, match="charge"):
        _ = guarded.tools


def test_functions_that_block_run_for_an_async_runner_beside_its_loop(world: World) -> None:
    end = awaited("runner", Script(asks(C1)), toolbox_of(world))
    assert [json.loads(each["content"]) for each in results_in(end.messages)] == [{"id": "ch_1"}]


@pytest.mark.parametrize(
    "given", [{"scope": "", "turn": "t"}, {"scope": None, "turn": "t"}, {"scope": "a", "turn": ""}]
)
def test_a_runner_that_does_not_say_for_whom_it_acts_is_refused(
    given: dict[str, Any], world: World
) -> None:
    with pytest.raises(UsageError, match=r"scope|turn"):
        RunnerTools(toolbox_of(world), **given)
