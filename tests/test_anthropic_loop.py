"""Runs of the loop with the real SDK on a scripted server."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import APIError

from adapter_suite import CHARGE, Call, World
from anthropic_agents import (
    C1,
    C2,
    LIST,
    USER,
    End,
    Kind,
    Runner,
    Script,
    asks,
    awaited,
    blocking,
    calls_in,
    every_loop,
    every_run,
    loop,
    results_in,
    says,
    tool_use,
    toolbox_of,
    tools_of,
)
from forked import Forked
from guards import KEYED, PLAIN, Operator, changed
from retry_guard import Answer, Contract
from retry_guard_anthropic import run_tools
from retry_guard_ledgers import about


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


@every_run
@every_loop
def test_all_results_of_a_message_stand_in_one_message_in_the_order_of_its_calls(
    kind: Kind, run: Runner, world: World
) -> None:
    script = Script(asks(C2, C1, LIST), says("Both are charged."))
    end: End = run(kind, script, toolbox_of(world))
    user, asked, answered, last = end.messages
    assert (user, last["content"][0]["text"]) == (USER[0], end.text)
    assert end.text == "Both are charged."
    assert asked["content"] == [tool_use(C2), tool_use(C1), tool_use(LIST)]
    assert [each["tool_use_id"] for each in answered["content"]] == [
        "toolu_2",
        "toolu_1",
        "toolu_3",
    ]
    assert "is_error" not in {name for each in answered["content"] for name in each}
    assert json.loads(answered["content"][0]["content"]).keys() == {"id"}
    assert end.messages[:3] == script.sent[1]["messages"]
    assert len(world.effects) == 2


@every_run
@every_loop
def test_the_history_of_a_run_is_data_to_carry_on_with(
    kind: Kind, run: Runner, world: World
) -> None:
    first: End = run(kind, Script(asks(C1)), toolbox_of(world))
    kept = json.loads(json.dumps(first.messages))
    more = [*kept, {"role": "user", "content": "And the other one."}]
    script = Script(asks(C2))
    second: End = run(kind, script, toolbox_of(world), "human-2", messages=more)
    assert script.sent[0]["messages"] == more
    assert second.messages[: len(more)] == more
    assert len(world.effects) == 2


@pytest.mark.parametrize("contract", [KEYED, PLAIN], ids=["keyed", "plain"])
def test_the_model_is_told_of_the_tools_but_not_of_the_key(
    contract: Contract, tmp_path: Path
) -> None:
    script = Script()
    blocking("loop", script, toolbox_of(World(contract, tmp_path)), system="Be brief.")
    charge = script.sent[0]["tools"][0]
    assert charge["name"] == "charge"
    assert charge["description"] == "Charge a customer."
    assert charge["input_schema"]["properties"].keys() == {"customer", "amount"}
    assert (script.sent[0]["system"], script.sent[0]["max_tokens"]) == ("Be brief.", 100)


@every_run
@every_loop
def test_the_model_is_asked_no_more_than_it_may_and_its_last_calls_have_results(
    kind: Kind, run: Runner, world: World
) -> None:
    script = Script(asks(C1), asks(C2))
    end: End = run(kind, script, toolbox_of(world), max_rounds=2)
    assert (len(script.sent), end.run.rounds, end.run.end) == (2, 2, "max_rounds")
    assert [each["tool_use_id"] for each in results_in(end.messages)] == ["toolu_1", "toolu_2"]
    assert [call.call_id for call in end.run.calls] == ["toolu_1", "toolu_2"]
    assert len(world.effects) == 2


@every_run
@every_loop
def test_a_call_that_only_the_caller_can_run_is_handed_over_beside_the_results_of_the_others(
    kind: Kind, run: Runner, world: World
) -> None:
    shell: Any = {"type": "bash_20250124", "name": "bash"}
    script = Script(asks(C1, Call("toolu_5", {"command": "ls"}, "bash")))
    end: End = run(kind, script, toolbox_of(world), tools=[shell])
    assert (end.run.end, len(script.sent), len(world.effects)) == ("handed_over", 1, 1)
    assert len(calls_in(end.messages)) == 2
    assert [each["tool_use_id"] for each in end.messages[-1]["content"]] == ["toolu_1"]


@every_run
@every_loop
@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "charge"}])
def test_a_choice_that_forces_a_call_counts_once_or_no_run_would_end(
    choice: dict[str, Any], kind: Kind, run: Runner, world: World
) -> None:
    script, forced = Script(asks(C1)), {**choice, "disable_parallel_tool_use": True}
    run(kind, script, toolbox_of(world), tool_choice=forced)
    first, second = (body["tool_choice"] for body in script.sent)
    assert first == forced
    assert second == {"type": "auto", "disable_parallel_tool_use": True}


def test_the_calls_of_one_message_run_together_where_they_are_awaited(world: World) -> None:
    both = asyncio.Barrier(2)

    async def charge(customer: str, amount: int) -> dict[str, Any]:
        await asyncio.wait_for(both.wait(), 60)
        return world.charge(customer, amount)

    end = awaited("loop", Script(asks(C1, C2)), toolbox_of(world, [charge, *tools_of(world)[1:]]))
    assert [each.get("is_error") for each in results_in(end.messages)] == [None, None]
    assert len(world.effects) == 2


def test_a_call_that_is_stopped_does_not_leave_its_siblings_behind(world: World) -> None:
    class Stop(BaseException):
        pass

    async def charge(customer: str, amount: int) -> dict[str, Any]:
        if customer == "c1":
            raise Stop
        await asyncio.sleep(0.05)
        return world.charge(customer, amount)

    tools = [charge, *tools_of(world)[1:]]
    with pytest.raises(Stop):
        awaited("loop", Script(asks(C1, C2)), toolbox_of(world, tools))
    assert [effect["customer"] for effect in world.effects] == ["c2"]
    end = awaited("loop", Script(asks(C1, C2)), toolbox_of(world, tools_of(world)))
    assert [each.get("is_error") for each in results_in(end.messages)] == [True, None]
    assert len(world.effects) == 1


@every_run
@every_loop
def test_equal_calls_of_one_message_are_one_action_or_each_counts_as_the_contract_says(
    kind: Kind, run: Runner, tmp_path: Path
) -> None:
    for twins, effects in (("join", 1), ("count", 2)):
        folder = tmp_path / twins
        folder.mkdir()
        world = World(changed(PLAIN, twins=twins), folder)
        for ids in ("ab", "cd"):  # the second run of the turn replays both
            calls = [Call(f"toolu_{name}", CHARGE) for name in ids]
            end: End = run(kind, Script(asks(*calls)), toolbox_of(world))
            given = {each["content"] for each in results_in(end.messages)}
            assert len(given) == len(world.effects) == effects


@every_run
@every_loop
def test_what_is_unresolved_reaches_the_application_and_the_model(
    kind: Kind, run: Runner, world: World
) -> None:
    world.fates.append("lost_ack")
    script = Script(asks(C1), asks(C1._replace(id="toolu_7"), C2))
    end: End = run(kind, script, toolbox_of(world))
    (unresolved,) = end.unresolved
    first, again, other = results_in(end.messages)
    assert (first["is_error"], first["content"]) == (True, unresolved.text)
    assert again["content"] == unresolved.text
    assert (other.get("is_error"), unresolved.reason) == (None, "nothing_can_tell")
    assert len(world.effects) == 2


@every_run
def test_an_operator_is_asked_once_and_the_answer_is_the_result(run: Runner, world: World) -> None:
    world.fates.append("lost_ack")
    operator = Operator(Answer("happened", result={"id": "ch_1"}))
    for name in ("toolu_1", "toolu_2"):
        toolbox = toolbox_of(world, ask=operator)
        end: End = run("loop", Script(asks(C1._replace(id=name))), toolbox)
        (result,) = results_in(end.messages)
        assert (result.get("is_error"), json.loads(result["content"])) == (None, {"id": "ch_1"})
        assert end.unresolved == ()
    assert (len(operator.asked), len(world.effects)) == (1, 1)


@every_run
@every_loop
def test_a_run_that_fails_after_its_tools_acted_is_begun_anew_and_nothing_runs_twice(
    kind: Kind, run: Runner, world: World
) -> None:
    """B18, B127."""
    down = httpx2.Response(400, json={"type": "error", "error": {"type": "e", "message": "m"}})
    with pytest.raises(APIError):
        run(kind, Script(asks(C1, C2), down), toolbox_of(world))
    renamed = [C1._replace(id="toolu_8"), C2._replace(id="toolu_9")]
    end: End = run(kind, Script(asks(*renamed)), toolbox_of(world))
    given = [json.loads(each["content"])["id"] for each in results_in(end.messages)]
    made = {effect["customer"]: effect["id"] for effect in world.effects}
    assert given == [made["c1"], made["c2"]]
    assert len(world.effects) == 2


def test_a_stream_that_is_closed_runs_nothing_more(world: World) -> None:
    script = Script(asks(C1))
    stream = loop(script, toolbox_of(world), streams=True)
    next(stream)
    stream.close()
    assert list(stream) == []
    assert (world.requests, len(script.sent)) == (0, 1)


def test_an_awaited_stream_that_is_closed_runs_nothing_more(world: World) -> None:
    script = Script(asks(C1))

    async def one_event() -> list[Any]:
        stream = loop(script, toolbox_of(world), blocks=False, streams=True)
        await anext(stream)
        await stream.aclose()
        return [event async for event in stream]

    assert asyncio.run(one_event()) == []
    assert (world.requests, len(script.sent)) == (0, 1)


@every_run
def test_a_stream_gives_the_events_of_all_messages(run: Runner, world: World) -> None:
    end: End = run("loop-stream", Script(asks(C1)), toolbox_of(world))
    types = [event.type for event in end.events]
    assert types.count("message_start") == types.count("message_stop") == 2
    assert "text" in types
    assert "input_json" in types


def test_the_beta_resource_works_alike(world: World) -> None:
    script = Script(asks(C1))
    run = run_tools(
        script.client().beta.messages,
        toolbox_of(world),
        scope="acme",
        turn="t",
        model="scripted",
        max_tokens=100,
        messages=USER,
        betas=["some-beta"],
    )
    assert (run.text, len(world.effects)) == ("I am done.", 1)


@every_run
def test_records_keep_the_call_ids_for_the_audit(run: Runner, world: World) -> None:
    run("loop", Script(asks(C1)), toolbox_of(world))
    (record,) = world.ledger().list("acme")
    assert "toolu_1" in repr(record.about)


@every_run
@pytest.mark.parametrize("kind", ["loop", "runner"])
def test_what_was_settled_before_the_run_ended_is_not_unresolved(
    kind: Kind, run: Runner, world: World
) -> None:
    class Answering(Script):
        def __call__(self, request: httpx2.Request) -> httpx2.Response:
            ledger = world.ledger()
            for record in ledger.list("acme") if len(self.sent) == 1 else ():
                ledger.resolve("acme", about(record).id, "happened", now=ledger.now(), value=None)
            return super().__call__(request)

    world.fates.append("lost_ack")
    script = Answering(asks(C1), asks(C1._replace(id="toolu_7")))
    end: End = run(kind, script, toolbox_of(world))
    assert [each.get("is_error") for each in results_in(end.messages)] == [True, None]
    assert (end.unresolved, len(world.effects)) == ((), 1)


@pytest.mark.parametrize("kind", ["loop", "loop-stream", "runner", "runner-eager"])
@pytest.mark.parametrize(
    ("where", "told"), [("tool", "It is not known"), ("model", '{"id": "ch_1"}')]
)
def test_a_run_that_is_killed_is_begun_anew_and_sends_nothing_twice(
    where: str, told: str, kind: str, tmp_path: Path
) -> None:
    def run(where: str) -> tuple[int, str]:
        words = (str(tmp_path), kind, where)
        return Forked("anthropic_killed", words, os.environ).end(60)

    assert run(where) == (-signal.SIGKILL, "")
    code, text = run("nowhere")
    assert (code, text[: len(told)]) == (0, told)
    assert len((tmp_path / "effects").read_text().splitlines()) == 1
