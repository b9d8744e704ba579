"""Grading by hand: counts of effects, their content, and what nobody intended."""

import pytest

from retry_guard_sandbox import Spec, run
from retry_guard_sandbox.grading._grading import Grade, grade
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.tasks import Intended, Made, Task, intended
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json, Request
from retry_guard_sandbox.world._wire import Seen

CHARGE: Json = {"customer": "c", "amount": 1, "currency": "eur", "description": "d"}
BULK: Json = {"recipients": ["a", "b", "c"], "subject": "s", "body": "t"}
PAY = Task(
    name="pay",
    service="billing",
    prompt="Charge c, then refund it.",
    steps=(),
    intended=(
        Intended(tool="charge", identity={"customer": "c"}, content=CHARGE),
        Intended(tool="refund", identity={"charge": Made(0)}),
    ),
)
SPREAD = Task(
    name="spread",
    service="mail",
    prompt="Tell a, b and c, then a again about it.",
    steps=(),
    intended=(
        *intended("send_bulk", BULK, "body"),
        *intended("send_email", {"to": "a", "subject": "told", "body": "u"}, "body"),
    ),
)
OK = ("exactly_once", 1, 1)


def bulk(*recipients: str, **changes: str) -> Json:
    """Return a bulk mail to some."""
    return {**BULK, "recipients": list(recipients), **changes}


def recorded(*made: tuple[str, Json, int]) -> Effects:
    """Record effects given as tool, arguments and send; a batch's are of one item each."""
    effects, number = Effects(), 0
    for tool, arguments, send in made:
        batch = TOOLS[tool].batch
        for part in TOOLS[tool].parts(arguments):
            name = f"{tool}_{number}"
            effects.add(
                Effect(
                    tool=tool,
                    arguments=part,
                    id=name,
                    item={"id": name},
                    at=0.0,
                    send=send,
                    batch=batch.items if batch else None,
                )
            )
            number += 1
    return effects


def graded(task: Task, *made: tuple[str, Json, int]) -> dict[int, tuple[str, int, int]]:
    """Return outcome, effects and sends that had some, by write."""
    grades = grade(task, recorded(*made), [], [], ended=0.0)
    return {g.write: (g.outcome, g.effects, g.executed_sends) for g in grades}


def test_single_writes() -> None:
    refund: Json = {"charge": "charge_0", "amount": 1}
    charge = ("charge", CHARGE, 1)
    assert graded(PAY) == {0: ("omission", 0, 0), 1: ("omission", 0, 0)}
    assert graded(PAY, charge, ("refund", refund, 2)) == {0: OK, 1: OK}
    assert graded(PAY, charge, ("charge", CHARGE, 2))[0] == ("duplicate", 2, 2)
    assert graded(PAY, charge, ("charge", CHARGE, 1))[0] == ("duplicate", 2, 1)
    assert graded(PAY, ("charge", {**CHARGE, "amount": 2}, 1))[0] == ("divergent", 1, 1)


def test_what_is_about_the_effect_of_another_write_is_about_each_of_its_effects() -> None:
    charges = (("charge", CHARGE, 1), ("charge", CHARGE, 2))
    for name, outcome in (("charge_0", OK), ("charge_1", OK), ("charge_2", ("omission", 0, 0))):
        result = graded(PAY, *charges, ("refund", {"charge": name, "amount": 1}, 3))
        assert result[1] == outcome
        assert (-1 in result) == (outcome != OK)


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        (BULK, [0, 1, 2]),
        (bulk("b", "x"), [1]),
        (bulk("x"), []),
        (bulk("a", body="x"), []),
        ({"recipients": "a", "subject": "s", "body": "t"}, []),
        ({"subject": "s", "body": "t"}, []),
    ],
)
def test_the_effects_of_a_batch_are_those_of_its_items(asked: Json, ids: list[int]) -> None:
    effects = recorded(("send_bulk", BULK, 1), ("send_bulk", bulk("a", subject="other"), 2))
    found = effects.of("send_bulk", asked)
    assert [effect.id for effect in found] == [f"send_bulk_{number}" for number in ids]
    assert effects.of("send_email", asked) == []


def test_content_that_says_the_same_is_as_intended() -> None:
    spelled: Json = {"customer": "c", "amount": 1.0, "currency": "EUR", "description": " D"}
    assert graded(PAY, ("charge", spelled, 1))[0] == OK
    assert graded(PAY, ("charge", {**spelled, "description": "e"}, 1))[0][0] == "divergent"


def test_a_reworded_second_effect_is_a_duplicate() -> None:
    both = (("charge", CHARGE, 1), ("charge", {**CHARGE, "description": "other"}, 2))
    assert graded(PAY, *both)[0] == ("duplicate", 2, 2)


def test_a_refunded_double_charge_is_a_duplicate() -> None:
    undone: Json = {"charge": "charge_1", "amount": 1}
    result = graded(PAY, ("charge", CHARGE, 1), ("charge", CHARGE, 2), ("refund", undone, 3))
    assert result[0] == ("duplicate", 2, 2)


def test_an_effect_that_nobody_intended_is_a_row_of_its_own() -> None:
    stray: Json = {**CHARGE, "customer": "other"}
    result = graded(PAY, ("charge", CHARGE, 1), ("charge", stray, 2), ("charge", stray, 2))
    assert (result[0], result[-1]) == (OK, ("divergent", 2, 1))


def test_each_item_of_a_batch_is_a_write_of_its_own() -> None:
    none = ("omission", 0, 0)
    assert graded(SPREAD, ("send_bulk", BULK, 1)) == {0: OK, 1: OK, 2: OK, 3: none}
    assert graded(SPREAD, ("send_bulk", bulk("a", "b"), 1)) == {0: OK, 1: OK, 2: none, 3: none}
    again = graded(SPREAD, ("send_bulk", bulk("a"), 1), ("send_bulk", BULK, 2))
    assert again == {0: ("duplicate", 2, 2), 1: OK, 2: OK, 3: none}


def test_the_rest_of_a_batch_sent_later_completes_it() -> None:
    made = (("send_bulk", bulk("a"), 1), ("send_bulk", bulk("c", "b"), 2))
    assert set(graded(SPREAD, *made).values()) == {OK, ("omission", 0, 0)}


def test_items_of_a_batch_that_nobody_intended_are_strays() -> None:
    result = graded(SPREAD, ("send_bulk", bulk("a", "x", "y"), 1))
    assert result[-1] == ("divergent", 2, 1)
    assert result[0] == OK
    assert graded(SPREAD, ("send_bulk", bulk("a", subject="other"), 1))[0][0] == "omission"


def test_the_content_of_an_item_is_the_content_of_its_batch() -> None:
    assert graded(SPREAD, ("send_bulk", bulk("a", body="T "), 1))[0] == OK
    assert graded(SPREAD, ("send_bulk", bulk("a", body="x"), 1))[0][0] == "divergent"


@pytest.mark.parametrize("recipients", ["abc", "ab", "c"])
def test_all_items_of_a_batch_have_one_course_which_the_next_write_ends(recipients: str) -> None:
    """A read belongs to the write before it, and a second request to the first one's course."""
    mail: Json = {"to": "a", "subject": "told", "body": "u"}
    calls: list[tuple[str, Json]] = [
        ("list_sent", {"subject": "s"}),
        ("send_bulk", BULK),
        ("list_sent", {"subject": "s"}),
        ("send_bulk", bulk(*recipients)),
        ("send_email", mail),
        ("list_sent", {"subject": "told"}),
    ]
    seen = [
        Seen(Request(tool, arguments), float(10 * at), 10.0 * at + 1, None)
        for at, (tool, arguments) in enumerate(calls)
    ]
    grades = grade(SPREAD, Effects(), seen, [], ended=100.0)
    courses = {g.write: (g.calls, g.seconds) for g in grades}
    whole, first = (3, 30.0), (2, 20.0)
    assert courses == {
        **{n: whole if name in recipients else first for n, name in enumerate("abc")},
        3: (2, 60.0),
    }


def test_a_write_that_was_never_sent_has_no_course() -> None:
    grades: list[Grade] = grade(SPREAD, Effects(), [], [], ended=100.0)
    assert {(g.calls, g.seconds) for g in grades} == {(0, 0.0)}


def test_one_send_that_ran_twice_does_not_stand_for_two_wishes() -> None:
    """Else a guard that never repeats anything would pass wherever a service does it for it."""
    row = next(
        iter(
            run(
                Spec(
                    contract="native",
                    fault="silent_redelivery",
                    attempts_hit="1",
                    task="comment",
                    agent="retry",
                    condition="argument_hash",
                    harness="deliberate_repeat",
                    seed=0,
                )
            )
        )
    )
    assert (row.effects, row.executed_sends, row.intended) == (2, 1, 2)
    assert row.outcome == "omission"
