"""Runs that fail, are stopped, killed and begun anew; and whose calls they make."""

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

import openai_loop_killed
from adapter_suite import C1, C2, CONTRACTS, Call, World
from functions_tools import functions_of, toolbox_of
from openai_loop_models import (
    Api,
    Model,
    Run_,
    answers_in,
    awaited,
    awaiting,
    blocking,
    every_api,
    every_form,
    says,
    streamed,
    streaming,
)
from retry_guard import Contract, Done, Guard, UsageError
from retry_guard_contracts import encode_result
from retry_guard_ledgers import about
from retry_guard_openai import Run, stream_tools

BUSY = {"retry-after-ms": "1"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def again(call: Call) -> Call:
    """The same call under another id, as a model makes it anew."""
    return call._replace(id=call.id + "-anew")


def replayed(run: Run) -> list[bool]:
    outcomes = [call.answer.outcome for call in run.calls]
    return [isinstance(outcome, Done) and outcome.replayed for outcome in outcomes]


# Runs that fail, and are begun anew


@every_api
@every_form
def test_retries_of_the_sdk_send_nothing_twice(run: Run_, api: Api, world: World) -> None:
    """B16: the model that is asked again makes the same call under another id."""
    model = Model(
        api,
        [
            httpx2.Response(503, headers=BUSY),
            says(api, "", C1),
            httpx2.Response(429, headers=BUSY),
            says(api, "", again(C1)),
        ],
    )
    ended = run(model, toolbox_of(world))
    assert len(model.requests) == 5
    assert replayed(ended) == [False, True]
    assert len(world.effects) == 1


@every_api
@every_form
def test_a_run_whose_model_fails_is_begun_anew_and_replays(
    run: Run_, api: Api, world: World
) -> None:
    """B17, B18: what was done stays recorded, though no history says so."""
    model = Model(api, [says(api, "", C1, C2), httpx2.Response(400, json={"error": {}})])
    with pytest.raises(openai.BadRequestError):
        run(model, toolbox_of(world))
    ended = run(Model(api, [says(api, "", again(C2), again(C1))]), toolbox_of(world))
    assert replayed(ended) == [True, True]
    assert len(world.effects) == 2


@every_api
async def test_a_guardrail_that_trips_beside_a_tool_that_acted_leaves_its_record(
    api: Api, world: World
) -> None:
    """B18: the guardrail runs beside the loop, and the caller begins the turn anew."""
    acted = asyncio.Event()

    class TrippedError(Exception):
        pass

    async def charge(customer: str, amount: int) -> Any:
        result = world.charge(customer, amount)
        acted.set()
        await asyncio.sleep(0)
        return result

    async def wait() -> str:
        await asyncio.sleep(60)
        return "never"

    async def guardrail() -> None:
        await acted.wait()
        await asyncio.sleep(0.1)
        raise TrippedError

    model = Model(api, [says(api, "", C1, Call("w", {}, "wait"))])

    async def beside() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(awaiting(model, toolbox_of(world, [charge, wait])))
            group.create_task(guardrail())

    with pytest.raises(ExceptionGroup, match="unhandled"):
        await beside()
    assert len(model.requests) == 1
    box = toolbox_of(world, [charge, wait])
    ended = await awaiting(Model(api, [says(api, "", again(C1))]), box)
    assert replayed(ended) == [True]
    assert len(world.effects) == 1


@every_api
@every_form
def test_an_error_for_the_application_comes_after_its_siblings_have_ended(
    run: Run_, api: Api, world: World
) -> None:
    """B18: the error of one call takes nothing from another."""

    def broken() -> None:
        raise UsageError("the application is wrong")

    tools = [*functions_of(world), broken]
    model = Model(api, [says(api, "", C1, Call("b", {}, "broken"))])
    with pytest.raises(UsageError, match="the application is wrong"):
        run(model, toolbox_of(world, tools))
    ended = run(Model(api, [says(api, "", again(C1))]), toolbox_of(world))
    assert replayed(ended) == [True]
    assert len(world.effects) == 1


@pytest.mark.parametrize(
    ("where", "told"),
    [("tool", "It is not known whether `charge` took effect"), ("model", '{"id": "ch_1"}')],
)
def test_a_run_that_is_killed_is_begun_anew_and_sends_nothing_twice(
    where: str, told: str, tmp_path: Path
) -> None:
    def played(where: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, openai_loop_killed.__file__, str(tmp_path), where]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert played(where).returncode == -signal.SIGKILL
    again = played("nowhere")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith(told)
    assert len((tmp_path / "effects").read_text().splitlines()) == 1


@every_api
def test_who_leaves_a_stream_has_run_nothing(api: Api, world: World) -> None:
    model = Model(api, [says(api, "", C1)])
    http = httpx2.Client(transport=httpx2.MockTransport(model.answer))
    rest: dict[str, Any] = {"model": "m", "scope": "acme", "turn": "m1"}
    with openai.OpenAI(api_key="k", http_client=http) as client:
        box = toolbox_of(world)
        if api == "chat":
            chunks = stream_tools(client.chat.completions, box, messages=[], **rest)
            next(chunks)
            chunks.close()
        else:
            events = stream_tools(client.responses, box, input="", **rest)
            next(events)
            events.close()
    assert (len(model.requests), world.requests) == (1, 0)


# What the application is told


@every_api
@every_form
def test_unresolved_calls_reach_the_application_each_once(
    run: Run_, api: Api, world: World
) -> None:
    world.fates.append("lost_ack")
    model = Model(api, [says(api, "", C1), says(api, "", again(C1), C2)])
    ended = run(model, toolbox_of(world))
    (unresolved,) = ended.unresolved
    assert unresolved.tool == "charge"
    assert answers_in(ended.items)["c1"] == unresolved.text
    assert [call.answer.is_error for call in ended.calls] == [True, True, False]
    assert len(world.effects) == 2


@every_api
@every_form
def test_what_was_settled_later_in_the_run_is_not_unresolved(
    run: Run_, api: Api, world: World
) -> None:
    ledger = world.ledger()

    def settle() -> str:
        """Answer as an operator does meanwhile."""
        (record,) = ledger.list("acme")
        value = encode_result({"id": "ch_9"})
        ledger.resolve("acme", about(record).id, "happened", now=ledger.now(), value=value)
        return "settled"

    world.fates.append("lost_ack")
    spelled = C1._replace(id="c3", arguments=dict(reversed(C1.arguments.items())))
    rounds = [says(api, "", C1), says(api, "", Call("s", {}, "settle")), says(api, "", spelled)]
    box = toolbox_of(world, [*functions_of(world), settle], ledger=ledger)
    ended = run(Model(api, [*rounds]), box)
    assert [call.answer.is_error for call in ended.calls] == [True, False, False]
    assert answers_in(ended.items)["c3"] == '{"id": "ch_9"}'
    assert ended.unresolved == ()


@every_api
@every_form
def test_a_run_has_a_bound_and_its_history_is_whole(run: Run_, api: Api, world: World) -> None:
    model = Model(api, [says(api, "", C1._replace(id=f"c{n}")) for n in range(9)])
    ended = run(model, toolbox_of(world), max_rounds=3)
    assert (ended.end, ended.rounds, len(model.requests)) == ("max_rounds", 3, 3)
    assert list(answers_in(ended.items)) == ["c0", "c1", "c2"]
    assert len(world.effects) == 1


@every_api
@every_form
def test_a_repeat_in_a_later_turn_carries_a_warning(run: Run_, api: Api, world: World) -> None:
    for turn in ("m1", "m2"):
        ended = run(Model(api, [says(api, "", C1)]), toolbox_of(world), turn=turn)
    outcome = ended.calls[0].answer.outcome
    assert isinstance(outcome, Done)
    assert "second" in str(outcome.warning)
    assert "second" not in answers_in(ended.items)["c1"]
    assert len(world.effects) == 2


# Whose calls they are


@every_api
@every_form
def test_turns_and_scopes_are_the_callers(run: Run_, api: Api, world: World) -> None:
    box = toolbox_of(world)
    places: list[dict[str, Any]] = [
        {"scope": "ann", "turn": "m1"},
        {"scope": "bob", "turn": "m1"},
        {"scope": "ann", "turn": "m1"},
        {"scope": "cat", "turn": None},
        {"scope": "cat", "turn": None},
    ]
    for place in places:
        run(Model(api, [says(api, "", C1)]), box, **place)
    assert len(world.effects) == 3
    assert [r.turn for name in ("ann", "bob", "cat") for r in world.ledger().list(name)] == [
        "m1",
        "m1",
        None,
    ]


@every_api
@every_form
def test_a_turn_that_is_set_around_a_run_counts(run: Run_, api: Api, world: World) -> None:
    for turn in ("m1", "m2"):
        with Guard.turn("acme", "root"):
            run(Model(api, [says(api, "", C1)]), toolbox_of(world), turn=turn)
    assert [record.turn for record in world.ledger().list("acme")] == ["root"]
    assert len(world.effects) == 1


@every_api
async def test_parallel_calls_of_an_async_client_run_together(api: Api, world: World) -> None:
    both = threading.Barrier(2)

    def meet(n: int) -> int:
        both.wait(20)
        return n

    model = Model(api, [says(api, "", *[Call(f"c{n}", {"n": n}, "meet") for n in (1, 2)])])
    box = toolbox_of(world, [meet], contracts=[Contract(tool="meet")])
    assert answers_in((await streaming(model, box)).items) == {"c1": "1", "c2": "2"}


@every_api
def test_calls_of_a_blocking_client_run_in_their_order(api: Api, world: World) -> None:
    for run in (blocking, streamed):
        run(Model(api, [says(api, "", C2, C1)]), toolbox_of(world))
    assert [effect["amount"] for effect in world.effects] == [2, 1]


@every_api
def test_reads_run_each_time(api: Api, world: World) -> None:
    """B133: a poll is no loop."""
    polls = [says(api, "", Call(f"p{n}", {}, "list_charges")) for n in range(3)]
    model = Model(api, [polls[0], says(api, "", C1), *polls[1:]])
    found = answers_in(awaited(model, toolbox_of(world)).items)
    assert [found[f"p{n}"].count("ch_1") for n in range(3)] == [0, 1, 1]


@every_api
def test_what_the_caller_gave_is_left_as_it_was(api: Api, world: World) -> None:
    given = [{"role": "user", "content": "Charge them."}]
    name = "messages" if api == "chat" else "input"
    blocking(Model(api, [says(api, "", C1)]), toolbox_of(world), **{name: given})
    assert given == [{"role": "user", "content": "Charge them."}]


def test_one_toolbox_serves_both_apis_and_forms(world: World) -> None:
    box = toolbox_of(world)
    runs = [
        run(Model(api, [says(api, "", C1)]), box)
        for api in ("chat", "responses")
        for run in (blocking, awaited)
    ]
    assert [replayed(run) for run in runs] == [[False], [True], [True], [True]]
