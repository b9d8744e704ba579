"""A person is asked by a pause of the next equal call; the answer goes where its question says."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, RunState, SQLiteSession, function_tool

from adapter_suite import C1, C2, CONTRACTS, Call, Killed, World
from openai_agents_runs import (
    OPEN,
    QUIET,
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
from retry_guard import Answer, Question, UsageError, question_of, settle
from retry_guard_ledgers import changed
from retry_guard_openai_agents import AgentGuard, unresolved_in

A1, A2 = C1._replace(id="c8"), C2._replace(id="c9")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def paused(world: World, *later: Call, run: Any = plainly, **options: Any) -> tuple[Any, ...]:
    """A run of which both first calls were lost, and whose model makes these calls again."""
    world.fates.extend(("lost_ack",) * 2)
    guard = guard_of(world, approvals=True, **options)
    agent = agent_of(guard, asks(C1, C2), asks(*later))
    result = go(agent, run)
    return guard, agent, result


def asked(guard: AgentGuard, result: Any, context: Any = None) -> dict[str, Question | None]:
    """The questions of a pause, by the call's id."""

    async def look() -> dict[str, Question | None]:
        return {item.call_id: await guard.question(item, context) for item in result.interruptions}

    return asyncio.run(look())


def resumed(agent: Agent[Any], state: RunState[Any], *, run: Any = plainly) -> Any:
    """Approve all that waits, and go on."""
    for item in state.get_interruptions():
        state.approve(item)
    return go(agent, run, given=state)


@every_run
def test_a_call_about_which_a_person_was_asked_pauses(run: Any, world: World) -> None:
    guard, agent, result = paused(world, A1, run=run)
    assert [told(result, call).kind for call in (C1, C2)] == ["unresolved"] * 2
    question = asked(guard, result)["c8"]
    assert question is not None
    assert (question.tool, question.arguments) == ("charge", C1.arguments)
    assert question.text.startswith(OPEN)
    assert question.answers == ("happened", "did_not_happen", "again", "abandon")
    assert guard.settle(question, Answer("happened", {"id": "ch_1"}))
    end = resumed(agent, result.to_state(), run=run)
    assert told(end, A1) == ("done", {"id": "ch_1"})
    assert note_of(end, A1)["replayed"] is True
    assert end.final_output == "I am done."
    assert world.requests == len(world.effects) == 2


@pytest.mark.parametrize("first", [0, 1], ids=["in order", "swapped"])
def test_two_questions_each_get_their_own_answer(first: int, world: World) -> None:
    guard, agent, result = paused(world, A1, A2)
    questions = asked(guard, result)
    answers = [("c8", Answer("happened", {"id": "ch_8"})), ("c9", Answer("abandon"))]
    for name, answer in (answers[first], answers[1 - first]):
        question = questions[name]
        assert question is not None
        assert guard.settle(question.id, answer)
    end = resumed(agent, result.to_state())
    assert told(end, A1) == ("done", {"id": "ch_8"})
    assert "given up by an operator" in text_of(end, A2)
    assert world.requests == 2


@pytest.mark.parametrize(
    ("answer", "sends"),
    [
        (Answer("again"), 1),
        (Answer("did_not_happen", final=True), 1),
        (Answer("happened", {"id": "ch_1"}), 0),
        (Answer("abandon"), 0),
        (None, 0),
    ],
)
def test_an_approved_call_goes_on_as_the_answer_says(
    answer: Answer | None, sends: int, world: World
) -> None:
    guard, agent, result = paused(world, A1)
    question = asked(guard, result)["c8"]
    assert question is not None
    if answer is not None:
        assert guard.settle(question, answer)
    end = resumed(agent, result.to_state())
    assert world.requests == 2 + sends
    if answer is None:
        assert text_of(end, A1).startswith(OPEN)


def test_a_rejected_call_is_not_made(world: World) -> None:
    _, agent, result = paused(world, A1, A2)
    state = result.to_state()
    first, second = state.get_interruptions()
    state.reject(first, rejection_message="A person said: it happened.")
    state.approve(second)
    end = go(agent, given=state)
    assert text_of(end, A1) == "A person said: it happened."
    assert text_of(end, A2).startswith(OPEN)
    assert world.requests == 2


def test_an_answer_settles_nothing_but_its_question(world: World) -> None:
    guard, _, result = paused(world, A1)
    question = asked(guard, result)["c8"]
    assert question is not None
    assert not guard.settle("0" * 16 + ".00000000", Answer("again"))
    assert guard.settle(question, Answer("again"))
    assert not guard.settle(question, Answer("abandon"))
    with pytest.raises(UsageError, match="give one of"):
        guard.settle(question, Answer("perhaps"))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - the point


def test_a_resumed_run_repeats_no_sibling(world: World) -> None:
    ran: list[int] = []

    @function_tool
    def note() -> str:
        """Note it."""
        ran.append(1)
        return "noted"

    world.fates.append("lost_ack")
    guard = guard_of(world, [*tools_of(world), note], approvals=True)
    other = C2._replace(id="c7")
    agent = agent_of(guard, asks(C1), asks(A1, other, Call("n1", {}, "note")))
    result = go(agent)
    assert {item.call_id for item in result.interruptions} == {"c8"}
    end = resumed(agent, result.to_state())
    assert (ran, told(end, other).kind, len(outputs(end))) == ([1], "done", 4)
    assert world.requests == 2


def test_the_first_call_in_a_process_pauses_for_what_another_left(world: World) -> None:
    paused(world)
    guard = guard_of(world, approvals=True, turn="later")
    result = go(agent_of(guard, asks(A1)))
    assert [item.call_id for item in result.interruptions] == ["c8"]
    question = asked(guard, result)["c8"]
    assert question is not None
    assert world.requests == 2


def test_what_a_crash_left_is_looked_at_before_a_person_is(world: World) -> None:
    world.fates.append("crash_resume")
    with pytest.raises(Killed):
        go(agent_of(guard_of(world, approvals=True), asks(C1)))
    guard = guard_of(world, approvals=True)
    result = go(agent_of(guard, asks(A1), asks(C1)))
    assert text_of(result, A1).startswith(OPEN)
    assert [item.call_id for item in result.interruptions] == ["c1"]
    assert world.requests == 1


def test_an_answer_that_waits_to_be_acted_on_is_no_question(world: World) -> None:
    guard, _, result = paused(world, A1)
    question = asked(guard, result)["c8"]
    assert question is not None
    assert guard.settle(question, Answer("again"))
    assert asked(guard, result) == {"c8": None}


def test_what_an_operator_answered_elsewhere_is_no_question_any_more(world: World) -> None:
    guard, agent, result = paused(world, A1)
    question = asked(guard, result)["c8"]
    assert question is not None
    assert settle(world.ledger(), "acme", question.id, Answer("happened", {"id": "ch_1"}))
    assert asked(guard, result) == {"c8": None}
    assert told(resumed(agent, result.to_state()), A1) == ("done", {"id": "ch_1"})
    later = A1._replace(id="c10")
    end = go(agent_of(guard_of(world, approvals=True), asks(later)))
    assert (told(end, later), world.requests) == (("done", {"id": "ch_1"}), 2)


def test_a_call_that_goes_on_with_it_is_joined_and_pauses_nothing(world: World) -> None:
    guard, _, result = paused(world, A1)
    ledger = world.ledger()
    for record in ledger.list("acme", "open"):
        until = ledger.now().latest + 60
        ledger.claim(changed(record, owner="another call", lease=until), None, ledger.now())
    assert asked(guard, result) == {"c8": None}


def test_a_question_needs_the_scope_of_its_run(world: World) -> None:
    def itself(account: Any) -> Any:
        return account

    world.fates.append("lost_ack")
    guard = guard_of(world, approvals=True, scope=itself)
    result = go(agent_of(guard, asks(C1), asks(A1)), context="ann")
    assert asked(guard, result, "bob") == {"c8": None}
    question = asked(guard, result, "ann")["c8"]
    assert question is not None
    assert not guard.settle(question, Answer("again"), "bob")
    assert guard.settle(question, Answer("again"), "ann")


def test_other_approvals_are_no_questions(world: World) -> None:
    guard = guard_of(world, tools_of(world, needs_approval=True), approvals=True)
    result = go(agent_of(guard, asks(C1)))
    assert asked(guard, result) == {"c1": None}
    assert world.requests == 0


def test_without_approvals_the_model_is_told_and_the_application_too(world: World) -> None:
    world.fates.append("lost_ack")
    guard, ledger = guard_of(world), world.ledger()
    result = go(agent_of(guard, asks(C1), asks(A1)))
    assert result.interruptions == []
    first, second = unresolved_in(result)
    assert first.action == second.action
    question = question_of(ledger, "acme", second)
    assert question is not None
    assert settle(ledger, "acme", question.id, Answer("happened", {"id": "ch_1"}))
    assert told(go(agent_of(guard, asks(A1))), A1) == ("done", {"id": "ch_1"})


def test_a_person_who_can_be_reached_at_once_is_asked_first(world: World) -> None:
    told_of: list[str] = []

    async def ask(unresolved: Any) -> Answer | None:
        told_of.append(unresolved.reason)
        return Answer("happened", {"id": "ch_1"}) if len(told_of) == 1 else None

    guard, _, result = paused(world, A1, A2, ask=ask)
    assert told_of == ["nothing_can_tell"] * 2
    kinds = {again.id: told(result, call).kind for call, again in ((C1, A1), (C2, A2))}
    assert sorted(kinds.values()) == ["done", "unresolved"]
    ((name, question),) = asked(guard, result).items()
    assert question is not None
    assert kinds[str(name)] == "unresolved"


def test_malformed_arguments_are_for_a_person_where_calls_may_pause(world: World) -> None:
    """So the SDK does with every approval that depends on arguments."""
    call = asks(C1)
    call[0].arguments = '{"a":'
    guard = guard_of(world, approvals=True)
    agent = agent_of(guard, call)
    result = go(agent)
    assert asked_of_nobody(result) == ["c1"]
    end = resumed(agent, result.to_state())
    assert text_of(end, C1).endswith("; nothing was sent")


def asked_of_nobody(result: Any) -> list[str | None]:
    return [item.call_id for item in result.interruptions]


def test_another_process_goes_on_from_the_state_with_a_session(tmp_path: Path) -> None:
    program = Path(__file__).with_name("openai_agents_resumed.py")
    for step in ("pause", "resume"):
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path), step],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "output": "{'id': 'ch_1'}",
        "final": "I am done.",
        "effects": 1,
    }
    session = SQLiteSession("s1", tmp_path / "session.db")
    items: list[Any] = asyncio.run(session.get_items())
    calls = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == ["c1", "c8"]


def test_a_state_that_was_written_down_keeps_the_notes(world: World) -> None:
    async def restored() -> Any:
        guard, agent, result = paused_here[:3]
        state = await RunState.from_string(agent, result.to_state().to_string())
        for item in state.get_interruptions():
            question = await guard.question(item)
            assert question is not None
            guard.settle(question, Answer("happened", {"id": "ch_1"}))
            state.approve(item)
        return await Runner.run(agent, state, run_config=QUIET)

    paused_here = paused(world, A1)
    end = asyncio.run(restored())
    assert told(end, A1) == ("done", {"id": "ch_1"})
    assert [each.tool for each in unresolved_in(end)] == ["charge", "charge"]
