"""Tasks: each can be done, each can fail, and what is right is counted in the ledger."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from retry_guard_contracts import identify
from retry_guard_sandbox import Row, Spec, run
from retry_guard_sandbox.agents import AGENTS, Moves, Sight, ToolCall
from retry_guard_sandbox.grading._grading import Grade, grade
from retry_guard_sandbox.services import SERVICES, TOOLS
from retry_guard_sandbox.tasks import TASKS, Intended, Ref, Step, Task
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._variants import VARIANTS, variant
from retry_guard_sandbox.world._world import World, build
from sandbox_sites import HOME, WRITES

every_task = pytest.mark.parametrize("task", sorted(TASKS))
STEPS = [(t, s) for t in sorted(TASKS) for s in range(len(TASKS[t].steps))]
WRITE_STEPS = [(t, s) for t, s in STEPS if TOOLS[TASKS[t].steps[s].tool].effect == "write"]
every_write_step = pytest.mark.parametrize(("task", "step"), WRITE_STEPS)


def play(task: Task, steps: Sequence[Step] | None = None) -> tuple[World, list[Json]]:
    """Do the steps in a world without faults; return it, and the arguments of each step."""
    world = build(task.service, "native", "none", Streams(0, task.name))
    results, sent = list[Json | None](), list[Json]()
    for step in task.steps if steps is None else steps:
        arguments = step.filled(results)
        assert arguments is not None
        sent.append(arguments)
        results.append(world.wire.call(step.tool, arguments))
    return world, sent


def grades(task: Task, world: World) -> list[Grade]:
    """Grade what happened in a world by a task."""
    return grade(task, world.effects, world.wire.seen, [], ended=world.clock.time)


def outcomes(task: Task, world: World) -> list[str]:
    """Return the outcome of each write, and of what is no part of the task."""
    return [one.outcome for one in grades(task, world)]


def test_there_are_four_tasks_or_more_for_each_service_of_one_step_and_of_several() -> None:
    assert len(TASKS) >= 24
    for name in SERVICES:
        steps = [len(task.steps) for task in TASKS.values() if task.service == name]
        assert len(steps) >= 4
        assert min(steps) == 1
        assert max(steps) > 1


def test_every_write_has_a_task_of_one_step_and_one_of_several() -> None:
    single, several = Counter[str](), Counter[str]()
    for task in TASKS.values():
        (single if len(task.steps) == 1 else several).update({i.tool for i in task.intended})
    assert set(single) == set(WRITES)
    assert set(several) == {name for name, tool in TOOLS.items() if tool.effect != "read"}


def test_some_tasks_read_first_and_some_use_what_a_write_has_made() -> None:
    sources = [
        TOOLS[task.steps[value.step].tool].effect
        for task in TASKS.values()
        for step in task.steps
        for value in step.arguments.values()
        if isinstance(value, Ref)
    ]
    assert Counter(sources)["read"] >= 4
    assert Counter(sources)["write"] >= 3


def test_a_task_without_a_check_is_refused() -> None:
    with pytest.raises(ValueError, match="intends no write"):
        Task(name="vain", service="billing", prompt="", steps=(), intended=())


@every_task
def test_the_reference_solution_does_a_task_exactly_once(task: str) -> None:
    world, _ = play(TASKS[task])
    assert set(outcomes(TASKS[task], world)) == {"exactly_once"}
    assert sum(one.effects for one in grades(TASKS[task], world)) == sum(
        len(world.effects.of(tool)) for tool in TOOLS
    )


@every_task
def test_a_task_left_undone_is_an_omission_of_each_write(task: str) -> None:
    world, _ = play(TASKS[task], ())
    assert set(outcomes(TASKS[task], world)) == {"omission"}


@pytest.mark.parametrize(("task", "step"), STEPS)
def test_each_step_done_twice_is_a_duplicate_unless_a_repeat_is_harmless(
    task: str, step: int
) -> None:
    whole = TASKS[task]
    world, _ = play(whole, (*whole.steps, whole.steps[step]))
    tool = TOOLS[whole.steps[step].tool]
    items = len(tool.parts(dict(whole.steps[step].arguments)))
    twice = items if tool.effect == "write" else 0
    assert Counter(outcomes(whole, world))["duplicate"] == twice


@every_write_step
def test_every_write_has_other_words_and_a_twin(task: str, step: int) -> None:
    call = TASKS[task].steps[step]
    assert call.reworded
    assert call.twin
    _, sent = play(TASKS[task])
    worded = TASKS[task].reworded(call.tool, sent[step])
    twin = TASKS[task].twin(call.tool, sent[step])
    assert worded not in (None, sent[step])
    assert twin not in (None, sent[step])
    for arguments in (worded, twin):
        assert TOOLS[call.tool].fault_in(arguments or {}) is None


@every_write_step
@pytest.mark.parametrize("contract", VARIANTS)
def test_other_words_are_the_same_action_by_the_contract_and_a_twin_is_not(
    task: str, step: int, contract: str
) -> None:
    call, (_, sent) = TASKS[task].steps[step], play(TASKS[task])
    said = variant(contract, TASKS[task].service).contracts[call.tool]

    def identity(arguments: Json | None) -> bytes:
        return identify(said, arguments or {}, scope="s", secret=b"0" * 32).identity

    assert identity(TASKS[task].reworded(call.tool, sent[step])) == identity(sent[step])
    assert identity(TASKS[task].twin(call.tool, sent[step])) != identity(sent[step])


@every_write_step
def test_the_task_knows_its_calls_again_in_other_words_and_no_others(task: str, step: int) -> None:
    whole, (_, sent) = TASKS[task], play(TASKS[task])
    tool = whole.steps[step].tool
    worded = whole.reworded(tool, sent[step]) or {}
    assert whole.reworded(tool, worded) == worded
    assert TOOLS[tool].same(worded, sent[step])
    assert TOOLS[tool].action(worded) == TOOLS[tool].action(sent[step])
    assert whole.twin(tool, {**sent[step], "more": 1}) is None
    read = next(t.name for t in SERVICES[whole.service].tools if t.effect == "read")
    assert whole.reworded(read, {}) is None


@every_write_step
def test_a_write_in_other_words_is_as_intended_and_one_more_is_a_duplicate(
    task: str, step: int
) -> None:
    whole, call = TASKS[task], TASKS[task].steps[step]
    worded = Step(call.tool, {**call.arguments, **call.reworded})
    instead = (*whole.steps[:step], worded, *whole.steps[step + 1 :])
    assert set(outcomes(whole, play(whole, instead)[0])) == {"exactly_once"}
    items = len(TOOLS[call.tool].parts(dict(call.arguments)))
    both = outcomes(whole, play(whole, (*whole.steps, worded))[0])
    assert Counter(both)["duplicate"] == items


@every_write_step
def test_a_twin_is_no_write_of_the_task_but_one_of_the_task_with_twins(
    task: str, step: int
) -> None:
    whole, call = TASKS[task], TASKS[task].steps[step]
    world, _ = play(whole, (*whole.steps, Step(call.tool, {**call.arguments, **call.twin})))
    assert Counter(outcomes(whole, world)) == {
        "exactly_once": len(whole.intended),
        "divergent": 1,
    }
    assert "divergent" not in outcomes(whole.with_twins(), world)


@every_task
def test_with_twins_each_write_and_each_twin_is_intended_once(task: str) -> None:
    whole = TASKS[task]
    twins = [Step(s.tool, {**s.arguments, **s.twin}) for s in whole.steps if s.twin]
    both = whole.with_twins()
    world, _ = play(whole, (*whole.steps, *twins))
    assert set(outcomes(both, world)) == {"exactly_once"}
    writes = [one for one in whole.intended if TOOLS[one.tool].effect == "write"]
    assert len(both.intended) == len(whole.intended) + len(writes)
    assert both.intended[: len(whole.intended)] == whole.intended


@every_task
def test_a_task_that_is_wanted_twice_is_right_when_done_twice(task: str) -> None:
    whole = TASKS[task]
    assert whole.wanted(1) == whole
    world, _ = play(whole, (*whole.steps, *(_shifted(whole))))
    for one in grades(whole.wanted(2), world):
        times = 2 if TOOLS[one.tool].effect == "write" else 1
        assert (one.outcome, one.effects, one.intended) == ("exactly_once", times, times)


def _shifted(task: Task) -> list[Step]:
    """The steps again, as later ones: their references lead to the later results."""
    return [
        replace(
            step,
            arguments={
                name: replace(value, step=value.step + len(task.steps))
                if isinstance(value, Ref)
                else value
                for name, value in step.arguments.items()
            },
        )
        for step in task.steps
    ]


@every_task
def test_other_content_is_divergent_and_another_identity_an_omission(task: str) -> None:
    whole = TASKS[task]
    world, _ = play(whole)
    for number, one in enumerate(whole.intended):
        for part in ("identity", "content"):
            spoiled = _with(whole, number, _spoil(one, part))
            if spoiled.intended[number] == one:
                continue
            outcome = grades(spoiled, world)[number].outcome
            assert outcome == ("omission" if part == "identity" else "divergent")


def _spoil(one: Intended, part: str) -> Intended:
    """Return a write that wants another value in one field of a part."""
    fields: Json = dict(getattr(one, part))
    for name, value in fields.items():
        if isinstance(value, str):
            changed = {**fields, name: f"{value} and more"}
            return (
                replace(one, identity=changed)
                if part == "identity"
                else replace(one, content=changed)
            )
    return one


def _with(task: Task, number: int, one: Intended) -> Task:
    return replace(task, intended=(*task.intended[:number], one, *task.intended[number + 1 :]))


@every_task
@pytest.mark.parametrize(
    ("contract", "condition"), [("native", "guard"), ("keys_everywhere", "no_guard")]
)
def test_without_a_fault_every_agent_does_every_task_exactly_once(
    task: str, contract: str, condition: str
) -> None:
    for agent in AGENTS:
        rows = run(spec(task, contract=contract, agent=agent, condition=condition))
        assert len(rows) == len(TASKS[task].intended)
        for row in rows:
            assert (row.claimed, row.escalated, row.seconds > 0) == ("done", False, True)
            if not _is_doubled(agent, condition, row.tool):
                assert (row.outcome, row.effects) == ("exactly_once", row.intended)


def _is_doubled(agent: str, condition: str, tool: str) -> bool:
    """Whether an agent makes two actions of one, as far as anybody is told."""
    twins = variant("native", HOME[tool]).contracts[tool].twins
    return agent == "double_emit" and (condition == "no_guard" or twins == "count")


def spec(
    task: str, contract: str = "native", agent: str = "retry", condition: str = "no_guard"
) -> Spec:
    """Return an episode without a fault."""
    return Spec(
        contract=contract,
        fault="none",
        attempts_hit="1",
        task=task,
        agent=agent,
        condition=condition,
        seed=0,
    )


def test_an_agent_that_never_finishes_ends_in_an_error_and_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(sight: Sight) -> Moves:
        while True:
            yield (ToolCall("list_charges", {"customer": "cus_ada"}),)

    rows = _run_with(monkeypatch, endless)
    assert [(row.outcome, row.claimed, row.error) for row in rows] == [
        ("error", None, "BudgetError")
    ]


def test_an_agent_that_stops_without_finishing_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(sight: Sight) -> Moves:
        yield (ToolCall("charge", dict(sight.steps[0].arguments)),)

    rows = _run_with(monkeypatch, silent)
    assert [(row.outcome, row.claimed) for row in rows] == [("exactly_once", None)]


def _run_with(monkeypatch: pytest.MonkeyPatch, agent: object) -> list[Row]:
    monkeypatch.setattr("retry_guard_sandbox._episode.AGENTS", {"test": agent})
    return run(spec("charge_invoice", agent="test"))
