"""The bound: solved by hand, by enumeration, and without a look at the guard."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import retry_guard_sandbox.bound as bound_package
from bound_policies import every_value
from retry_guard_sandbox.bound import (
    SHOWN,
    Cell,
    Rules,
    Tool,
    Value,
    with_the_same_key,
    without_keys_or_people,
)
from retry_guard_sandbox.bound._courses import best_courses, reissued_courses
from retry_guard_sandbox.bound._schedules import outcomes
from retry_guard_sandbox.bound._solver import Solver, begun
from retry_guard_sandbox.bound._value import total

KEY, READ, BOUNDED, NOTHING = (
    Tool(keyed=True),
    Tool(lag=0.0),
    Tool(lag=3.0, bound=15.0),
    Tool(),
)


def timed_out(tool: Tool, rules: Rules | None = None) -> Cell:
    return Cell(tool=tool, shown="timeout", script="1", rules=rules or Rules())


def solved(cell: Cell) -> Value:
    value = total(best_courses(cell).by_outcome.values())
    return value._replace(seconds=round(value.seconds, 6))


def hand(*, escalations: int, calls: int, seconds: float) -> Value:
    return Value(escalations=escalations, calls=calls, seconds=seconds)


def test_with_a_key_the_hand_solution_is_one_reissue() -> None:
    # Eight schedules: not executed, executed, redelivered, late at 10.3, 28, 45, 57.7 and 85,800 s.
    # One send more under the key is answered, and makes no second effect in any of them: two calls
    # each. 10 s to the time-out, the pause of 0.5, the answer after 0.5: 11 s each. With one call
    # nothing could be said that is true in all of them, so fewer calls would need a person.
    assert solved(timed_out(KEY)) == hand(escalations=0, calls=16, seconds=8 * 11.0)


def test_with_nothing_the_hand_solution_is_to_ask_in_every_schedule() -> None:
    # Nothing is ever seen, so all eight schedules stay possible: whoever says "done" is wrong in
    # the first, whoever says "not done" in the second. So all eight are asked about. The later,
    # the more have been executed by then and need no second send: at 57.7 s all but two, which
    # are then sent once more (0.5 s). 8 + 2 calls.
    seconds = round(8 * 57.7 + 2 * 0.5, 6)
    assert solved(timed_out(NOTHING)) == hand(escalations=8, calls=10, seconds=seconds)


def test_with_a_strong_read_the_hand_solution_is_one_late_look() -> None:
    # A look at 57.7 s shows one effect in five schedules, none in two (not executed, late at
    # 3,660 s), two in one (redelivered). The five are done. The other three need a person: two
    # effects are not what was wanted, and of the two others one is done if nothing is sent, and
    # the other if something is. The two are sent once more. 8 + 8 + 2 calls.
    seconds = round(8 * 57.7 + 2 * 0.5, 6)
    assert solved(timed_out(READ)) == hand(escalations=3, calls=18, seconds=seconds)


def test_with_a_stated_bound_the_hand_solution_is_one_decisive_look() -> None:
    # Five schedules: not executed, executed, redelivered, late at 10.3 s and at 25 s, the last
    # moment that the bound allows. At 10 + 15 + 3 s a look shows all there will ever be: one in
    # three, none in one, which is sent once more, two in one, which needs a person. 5 + 5 + 1.
    expected = hand(escalations=1, calls=11, seconds=140.5)
    assert solved(timed_out(BOUNDED)) == expected


SMALL = {
    "key": (KEY, Rules(attempts=1, fresh_sends=0)),
    "nothing": (NOTHING, Rules(fresh_sends=0)),
    "read": (READ, Rules(fresh_sends=0)),
    "bound": (BOUNDED, Rules(fresh_sends=0)),
    "read, alone": (READ, Rules(operator=False, fresh_sends=0)),
    "read, alone, sends twice": (READ, Rules(operator=False, fresh_sends=1, deadline=30.0)),
    "nothing, alone, sends twice": (NOTHING, Rules(operator=False, fresh_sends=1)),
    "two parts": (Tool(parts=2), Rules(fresh_sends=0)),
    "two parts, read": (Tool(parts=2, lag=0.0), Rules(fresh_sends=0, deadline=30.0)),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("shown", SHOWN)
def test_no_policy_at_all_is_better_than_the_bound(name: str, shown: str) -> None:
    tool, rules = SMALL[name]
    cell = Cell(tool=tool, shown=shown, script="1", rules=rules)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - one of SHOWN
    assert Solver(cell).value(*begun(cell)) == min(every_value(cell))


@pytest.mark.parametrize("fresh_sends", [0, 1])
def test_every_single_policy_without_key_bound_and_person_fails_somewhere(fresh_sends: int) -> None:
    rules = Rules(operator=False, fresh_sends=fresh_sends, deadline=30.0)
    values = every_value(timed_out(READ, rules))
    assert len(values) > 500
    assert not any(value.is_exactly_once for value in values)


def test_the_best_of_them_fails_however_long_it_looks() -> None:
    tried = without_keys_or_people()
    assert len({one.cell.rules.deadline for one in tried}) == 3
    assert not any(one.best.is_exactly_once for one in tried)


@pytest.mark.parametrize("missing", ["operator", "bound", "key"])
def test_each_of_the_three_makes_exactly_once_possible_again(missing: str) -> None:
    alone = Rules(operator=missing == "operator")
    tool = {"bound": Tool(lag=0.0, bound=15.0), "key": KEY}.get(missing, READ)
    best = best_courses(timed_out(tool, alone)).by_outcome
    assert all(v.is_exactly_once for v in best.values())


def test_the_same_key_is_exactly_once_in_all_five_hidden_outcomes() -> None:
    reissued = with_the_same_key()
    five = {"not executed", "executed", "late", "partial", "redelivered"}
    assert all(set(one.by_hidden) == five for one in reissued)
    for one in reissued:
        assert all(v.is_exactly_once and v.escalations == 0 for v in one.by_hidden.values())


@pytest.mark.parametrize(("pause", "calls"), [(39.9, 2), (40.1, 1)])
def test_a_reissue_begins_only_if_its_time_out_ends_by_the_deadline(
    pause: float, calls: int
) -> None:
    rules = Rules(operator=False, fresh_sends=0, backoff=pause, backoff_limit=pause)
    assert solved(timed_out(KEY, rules)).calls == calls * len(outcomes(timed_out(KEY)))


def test_every_late_request_comes_while_its_key_is_remembered() -> None:
    for attempt in range(3):
        begun_at = 60.0 * attempt
        late = [o.after for o in outcomes(timed_out(KEY)) if o.hidden == "late"]
        assert all(begun_at + after < KEY.retention for after in late)


def test_a_key_that_is_forgotten_within_a_call_is_no_tool_of_this_game() -> None:
    with pytest.raises(ValueError, match="retention 60: give at least 720 s"):
        Tool(keyed=True, retention=60.0)


def test_the_sums_are_over_every_schedule_once() -> None:
    # Two attempts are hit, whatever became of them, and the third is answered: three calls each.
    cell = Cell(tool=KEY, shown="error", script="2")
    found = reissued_courses(cell)
    assert found.hits == 2
    assert total(found.by_outcome.values()).calls == 3 * len(outcomes(cell)) ** 2


SOLVER = ("_game", "_schedules", "_value", "_beliefs", "_moves", "_steps", "_solver", "_courses")


def imports(module: str) -> Iterator[str]:
    folder = Path(bound_package.__path__[0])
    for node in ast.walk(ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=name):
                yield str(name)
            case _:
                pass


@pytest.mark.parametrize("module", [*SOLVER, "_propositions"])
def test_the_solver_imports_nothing_of_the_guard_nor_of_the_rest_of_the_sandbox(
    module: str,
) -> None:
    own = {f"retry_guard_sandbox.bound.{name}" for name in SOLVER}
    ours = {name for name in imports(module) if name.startswith("retry_guard")}
    assert ours <= own
