"""The real guard, in the hidden schedules that the bound is over."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

import retry_guard_core._engine as engine
from retry_guard import Policy
from retry_guard_core import Now, Policy as CorePolicy, Record, Terms, Verdict, decide
from retry_guard_sandbox.bound import (
    SCRIPTS,
    SHOWN,
    SUBJECTS,
    Cell,
    Comparison,
    Outcome,
    Rules,
    Script,
    Value,
    _runs as runs,
    compare,
    compare_all,
)
from retry_guard_sandbox.bound._cells import subject
from retry_guard_sandbox.bound._game import SHOWN_AFTER
from retry_guard_sandbox.bound._schedules import outcomes
from retry_guard_sandbox.bound._value import total
from retry_guard_sandbox.world._network import CLIENT_TIMEOUT

SHORT = Rules(attempts=1)


def told(one: Comparison) -> str:
    return f"{one.contract} {one.cell.shown} {one.cell.script}: {one.best} / {one.real}"


@pytest.mark.parametrize("contract", SUBJECTS)
def test_the_guard_equals_the_bound_in_every_cell(contract: str) -> None:
    every = list(compare_all([contract], rules=SHORT))
    assert len(every) == len(SHOWN) * len(SCRIPTS)
    assert [told(one) for one in every if not one.is_equal] == []
    assert all(one.best.is_exactly_once for one in every)


@pytest.mark.parametrize("contract", ["key", "key_batch", "key_and_read"])
def test_it_does_so_by_its_own_default_attempts(contract: str) -> None:
    one = compare(contract, "timeout", "2", Rules(attempts=Policy().attempts))
    assert one.is_equal, told(one)


def test_the_rules_are_the_guards_own_but_for_the_attempts() -> None:
    rules, policy = Rules(), Policy()
    same = ("fresh_sends", "backoff", "backoff_limit", "deadline")
    assert [getattr(rules, name) for name in same] == [getattr(policy, name) for name in same]
    assert SHOWN_AFTER["timeout"] == CLIENT_TIMEOUT


def believing(**wrong: bool | float | str) -> Callable[..., Verdict]:
    """The decision of a guard that takes the terms for others than they are."""

    def decision(terms: Terms, record: Record, now: Now, policy: CorePolicy) -> Verdict:
        return decide(replace(terms, **cast("Any", wrong)), record, now, policy)

    return decision


def hurried(terms: Terms, record: Record, now: Now, policy: CorePolicy) -> Verdict:
    return decide(terms, record, now, replace(policy, deadline=20.0))


BROKEN = {
    "believes that nothing is in flight": (believing(bound=0.0), "read", "worst_duplicates"),
    "believes that a repeat is harmless": (
        believing(effect="idempotent"),
        "read",
        "worst_duplicates",
    ),
    "uses no key": (believing(keyed=False), "key", "escalations"),
    "uses no read": (believing(read_back=False), "read", "escalations"),
    "looks for 20 s only": (hurried, "read", "escalations"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_guard_is_worse_and_the_bound_does_not_move(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    broken, contract, component = BROKEN[name]
    before = compare(contract, "timeout", "1", SHORT)
    monkeypatch.setattr(engine, "decide", broken)
    after = compare(contract, "timeout", "1", SHORT)
    assert after.bound == before.bound
    assert not after.is_equal
    assert getattr(after.real, component) > getattr(before.real, component)


def tireless(terms: Terms, record: Record, now: Now, policy: CorePolicy) -> Verdict:
    return decide(terms, record, now, replace(policy, attempts=policy.attempts + 1))


@pytest.mark.parametrize("script", ["2", "all"])
def test_a_reissue_too_many_is_a_breach_and_the_bound_does_not_move(
    monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    before = compare("key", "timeout", script, SHORT)
    assert before.is_equal
    assert before.breach is None
    monkeypatch.setattr(engine, "decide", tireless)
    after = compare("key", "timeout", script, SHORT)
    assert (after.bound, after.schedules) == (before.bound, before.schedules)
    assert not after.is_equal
    assert after.breach == "re-issue 2 under one key, where 1 are allowed"


def test_a_reissue_that_could_not_be_answered_in_time_is_a_breach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(terms: Terms, record: Record, now: Now, policy: CorePolicy) -> Verdict:
        return decide(terms, record, now, replace(policy, backoff=41.0, backoff_limit=41.0))

    monkeypatch.setattr(engine, "decide", slow)
    one = compare("key", "timeout", "1", SHORT)
    assert not one.is_equal
    assert one.breach == "a re-issue whose time-out would end after 61.0 s, past the deadline"


def test_a_fresh_send_too_many_is_a_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    def lavish(terms: Terms, record: Record, now: Now, policy: CorePolicy) -> Verdict:
        return decide(terms, record, now, replace(policy, fresh_sends=1))

    none = Rules(attempts=1, fresh_sends=0)
    before = compare("bounded_read", "error", "all", none)
    monkeypatch.setattr(engine, "decide", lavish)
    after = compare("bounded_read", "error", "all", none)
    assert (after.bound, after.schedules) == (before.bound, before.schedules)
    assert (before.breach, after.breach) == (None, "fresh send 1, where 0 are allowed")
    assert not after.is_equal


def test_what_the_guard_is_worth_is_counted_from_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "decide", believing(bound=0.0))
    one = compare("read", "timeout", "1", SHORT)
    doubled = {outcome.hidden for outcome, value in one.guard.items() if value.duplicates}
    assert doubled == {"late"}
    falsely_done = {outcome.hidden for outcome, value in one.guard.items() if value.false}
    assert falsely_done == {"late"}


def nothing_is_done(made: object) -> bool:
    return False


@pytest.mark.parametrize("contract", ["key", "key_and_read"])
def test_an_attempt_whose_key_is_known_has_no_hidden_outcome(
    monkeypatch: pytest.MonkeyPatch, contract: str
) -> None:
    cell = Cell(tool=subject(contract).known, shown="error", script="all", rules=SHORT)
    write = subject(contract)
    merged = _sum(list(runs.leaves(write, cell)), cell)
    monkeypatch.setattr(runs, "is_done", nothing_is_done)
    every = list(runs.leaves(write, cell))
    assert len(every) == len(outcomes(cell)) ** 2
    # To the second: an answer from the key store takes no time to run.
    assert _sum(every, cell)[:8] == merged[:8]


def _sum(played: list[runs.Leaf], cell: Cell) -> Value:
    """The value over all schedules of two attempts."""
    every = len(outcomes(cell))
    return total(leaf.value.times(every ** (2 - len(leaf.choices))) for leaf in played)


LATE = Outcome("late", 0.0)
GRID = subject("read").known


@settings(max_examples=20, deadline=None)
@given(after=st.floats(10.01, 3_000.0))
def test_a_commit_between_two_points_of_the_grid_is_worth_what_one_of_them_is(
    after: float,
) -> None:
    cell = Cell(tool=GRID, shown="timeout", script="1", rules=SHORT)
    on_grid = {
        leaf.value.compared: outcomes(cell)[leaf.choices[0]].hidden
        for leaf in runs.leaves(subject("read"), cell)
    }
    with pytest.MonkeyPatch.context() as patch:
        only = (LATE._replace(after=after),)
        patch.setattr(runs, "outcomes", dict.fromkeys([cell], only).get)
        value = runs.play(subject("read"), cell, ()).value
    assert value.compared in on_grid
    seen_in_time = after < cell.rules.deadline - 0.2
    assert value.is_exactly_once
    if seen_in_time:
        assert value.escalations == 0
    elif after > cell.rules.deadline:
        assert value.escalations == 1


def test_a_value_is_compared_from_left_to_right() -> None:
    falling = [
        Value(worst_duplicates=1),
        Value(worst_false=1),
        Value(worst_omissions=1),
        Value(omissions=1),
        Value(escalations=1),
        Value(calls=1),
        Value(seconds=9.0),
    ]
    assert sorted(falling, reverse=True) == falling
