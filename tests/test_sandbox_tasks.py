"""Tasks, agents and grading: what is right is said by the task and counted in the ledger."""

import json
from collections import Counter
from itertools import product

import pytest

from retry_guard_sandbox import Row, Spec, run
from retry_guard_sandbox.agents import AGENTS, Moves, Sight, ToolCall
from retry_guard_sandbox.grading._grading import grade
from retry_guard_sandbox.services import KEY, SERVICES, TOOLS
from retry_guard_sandbox.tasks import TASKS, Intended, Made, Step, Task
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._variants import VARIANTS, variant

WRITES = {name for name, tool in TOOLS.items() if tool.effect == "write"}
CHARGE: Json = {"customer": "c", "amount": 1, "currency": "eur", "description": "d"}
TASK = Task(
    name="test",
    service="billing",
    prompt="Charge c, then refund it.",
    steps=(Step("charge", CHARGE),),
    intended=(
        Intended(tool="charge", identity={"customer": "c"}, content=CHARGE),
        Intended(tool="refund", identity={"charge": Made(0)}),
    ),
)
OK = '{"id": "ch_1"}'
LOST = '{"error": "no response within 10 s"}'


def test_every_write_has_a_task_of_one_step_and_one_of_several() -> None:
    single, several = Counter[str](), Counter[str]()
    for task in TASKS.values():
        (single if len(task.steps) == 1 else several).update({i.tool for i in task.intended})
    assert set(single) == set(several) == WRITES


def test_a_task_without_a_check_is_refused() -> None:
    with pytest.raises(ValueError, match="intends no write"):
        Task(name="vain", service="billing", prompt="", steps=(), intended=())


@pytest.mark.parametrize("task", sorted(TASKS))
def test_without_a_fault_every_agent_does_every_task_exactly_once(task: str) -> None:
    for contract, agent, condition in product(VARIANTS, AGENTS, ("no_guard", "guard")):
        rows = run(spec(task, contract=contract, agent=agent, condition=condition))
        assert len(rows) == len(TASKS[task].intended)
        for row in rows:
            assert (row.outcome, row.claimed, row.escalated) == ("exactly_once", "done", False)
            assert (row.effects, row.executed_sends, row.calls) == (row.intended, 1, 1)
            assert row.seconds > 0


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


def graded(*made: tuple[str, Json, int]) -> dict[int, tuple[str, int, int]]:
    """Grade effects given as tool, arguments and send; return outcome and counts by write."""
    effects = Effects()
    for number, (tool, arguments, send) in enumerate(made):
        name = f"{tool}_{number}"
        effects.add(
            Effect(tool=tool, arguments=arguments, id=name, item={"id": name}, at=0.0, send=send)
        )
    grades = grade(TASK, effects, [], [], ended=0.0)
    return {g.write: (g.outcome, g.effects, g.executed_sends) for g in grades}


def test_grading_by_hand() -> None:
    refund: Json = {"charge": "charge_0", "amount": 1}
    charge = ("charge", CHARGE, 1)
    assert graded() == {0: ("omission", 0, 0), 1: ("omission", 0, 0)}
    assert graded(charge, ("refund", refund, 2)) == {
        0: ("exactly_once", 1, 1),
        1: ("exactly_once", 1, 1),
    }
    assert graded(charge, ("charge", CHARGE, 2))[0] == ("duplicate", 2, 2)
    assert graded(charge, ("charge", CHARGE, 1))[0] == ("duplicate", 2, 1)
    assert graded(("charge", {**CHARGE, "amount": 2}, 1))[0] == ("divergent", 1, 1)


def test_a_reworded_second_effect_is_a_duplicate() -> None:
    assert graded(("charge", CHARGE, 1), ("charge", {**CHARGE, "description": "D"}, 2))[0] == (
        "duplicate",
        2,
        2,
    )


def test_a_refunded_double_charge_is_a_duplicate() -> None:
    undone: Json = {"charge": "charge_1", "amount": 1}
    result = graded(("charge", CHARGE, 1), ("charge", CHARGE, 2), ("refund", undone, 3))
    assert result[0] == ("duplicate", 2, 2)


def test_an_effect_that_nobody_intended_is_a_row_of_its_own() -> None:
    result = graded(("charge", CHARGE, 1), ("charge", {**CHARGE, "customer": "other"}, 2))
    assert result[0] == ("exactly_once", 1, 1)
    assert result[-1] == ("divergent", 1, 1)


def moves(agent: str, answers: list[str], contract: str = "native") -> list[ToolCall]:
    """Let an agent do one charge, or under `native` one ticket, and return all its calls."""
    tool = "charge" if contract == "keyed" else "create_ticket"
    arguments = CHARGE if tool == "charge" else {"project": "p", "title": "t", "body": "b"}
    service = "billing" if tool == "charge" else "tickets"
    tools = variant("native", service).tools
    keys = iter("abcdefgh")
    sight = Sight((Step(tool, arguments),), tools, lambda: next(keys))
    moving = AGENTS[agent](sight)
    messages = [next(moving)]
    messages += [moving.send((answer,)) for answer in answers]
    return [call for message in messages for call in message]


def summary(calls: list[ToolCall]) -> list[str]:
    """Return tool and key of each call, and how it was finished."""
    return [
        str(c.arguments["status"])
        if c.tool == "finish"
        else f"{c.tool} {c.arguments.get(KEY, '')}".strip()
        for c in calls
    ]


EMPTY, THERE = (
    '{"data": []}',
    json.dumps({"data": [{"id": "T", "project": "p", "title": "t", "body": "b"}]}),
)
TWICE = json.dumps({"data": [{"id": i, "project": "p", "title": "t", "body": "b"} for i in "TU"]})


@pytest.mark.parametrize(
    ("agent", "contract", "answers", "does"),
    [
        ("retry", "native", [OK], ["create_ticket", "done"]),
        ("retry", "native", [LOST, OK], ["create_ticket"] * 2 + ["done"]),
        ("retry", "native", [LOST] * 3, ["create_ticket"] * 3 + ["uncertain"]),
        ("retry", "keyed", [LOST, LOST, OK], ["charge a"] * 3 + ["done"]),
        ("new_key", "keyed", [LOST, LOST, OK], ["charge a", "charge b", "charge c", "done"]),
        ("new_key", "native", [LOST, OK], ["create_ticket"] * 2 + ["done"]),
        ("read_then_retry", "native", [OK], ["create_ticket", "done"]),
        (
            "read_then_retry",
            "native",
            [LOST, THERE],
            ["create_ticket", "search_tickets", "done"],
        ),
        (
            "read_then_retry",
            "native",
            [LOST, EMPTY, OK],
            ["create_ticket", "search_tickets", "create_ticket", "done"],
        ),
        (
            "read_then_retry",
            "native",
            [LOST, TWICE],
            ["create_ticket", "search_tickets", "uncertain"],
        ),
        (
            "read_then_retry",
            "keyed",
            [LOST, EMPTY, OK],
            ["charge a", "list_charges", "charge a", "done"],
        ),
        ("retry", "keyed", ['{"error": "400 check the parameter"}'], ["charge a", "failed"]),
        ("retry", "keyed", ['{"error": "409 still running"}', OK], ["charge a"] * 2 + ["done"]),
    ],
)
def test_each_agent_does_what_it_says(
    agent: str, contract: str, answers: list[str], does: list[str]
) -> None:
    assert summary(moves(agent, answers, contract)) == does


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_a_step_that_needs_a_missing_result_is_left_out_and_nothing_is_claimed(agent: str) -> None:
    task = TASKS["open_and_comment"]
    moving = AGENTS[agent](Sight(task.steps, variant("native", "tickets").tools, lambda: "k"))
    (call,), calls = next(moving), list[ToolCall]()
    while call.tool != "finish":
        calls.append(call)
        (call,) = moving.send((LOST if call.tool == "create_ticket" else EMPTY,))
    assert "add_comment" not in {c.tool for c in calls}
    assert call.arguments == {"status": "uncertain"}


def test_independent_steps_go_on_after_one_that_is_uncertain() -> None:
    task = TASKS["charge_two_invoices"]
    moving = AGENTS["retry"](Sight(task.steps, variant("native", "billing").tools, lambda: "k"))
    (call,), customers = next(moving), set[str]()
    while call.tool != "finish":
        customers.add(call.arguments["customer"])
        (call,) = moving.send((LOST if call.arguments["customer"] == "cus_ada" else OK,))
    assert customers == {"cus_ada", "cus_ben"}
    assert call.arguments == {"status": "uncertain"}


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


def test_the_variants_differ_in_nothing_but_keys_of_writes() -> None:
    for service, cls in SERVICES.items():
        native, keyed = variant("native", service), variant("keys_everywhere", service)
        assert set(native.contracts) == set(keyed.contracts) == {tool.name for tool in cls.tools}
        for name, contract in keyed.contracts.items():
            plain = native.contracts[name]
            assert contract.model_copy(update={"key": None}) == plain.model_copy(
                update={"key": None}
            )
            assert (contract.key is not None) == (TOOLS[name].effect == "write")
            assert plain.key in (None, contract.key)
            assert (plain.key is not None) == TOOLS[name].keyed


@pytest.mark.parametrize("contract", VARIANTS)
@pytest.mark.parametrize("service", sorted(SERVICES))
def test_tools_and_contracts_say_the_same(contract: str, service: str) -> None:
    side = variant(contract, service)
    for name, tool in side.tools.items():
        stated = side.contracts[name]
        assert stated.effect == tool.effect
        assert (KEY in tool.parameters["properties"]) == (stated.key is not None)
        assert set(tool.parameters["required"]) == set(tool.fields)
        if tool.look is not None:
            assert stated.read_back is not None
            assert stated.read_back.tool == tool.look.tool
            assert dict(tool.look.arguments) == stated.read_back.args
            assert set(stated.read_back.match) == set(tool.fields)


def test_no_service_states_an_in_flight_bound_and_only_the_search_a_lag() -> None:
    lags = {"create_ticket": 30.0, "add_comment": 0.0, "charge": 0.0, "refund": 0.0}
    for service in SERVICES:
        for name, contract in variant("native", service).contracts.items():
            assert contract.in_flight_bound is None
            if name in lags:
                assert contract.terms.lag == lags[name]
                assert contract.terms.conclusive
