"""The harnesses: each goes wrong as it says, hurts who is unguarded, and harms no guarded call."""

from collections.abc import Iterable
from functools import cache

import pytest

from retry_guard_sandbox import Grid, Row, Spec, run, run_all
from retry_guard_sandbox.harness import HARNESSES
from retry_guard_sandbox.harness._crashes import CRASHES, PAUSES

TASKS = ("charge_invoice", "refund_part", "open_ticket", "comment", "post_release", "insert_order")
POINTS = max(len(CRASHES), len(PAUSES))
every_harness = pytest.mark.parametrize("harness", sorted(HARNESSES))


@cache
def played(harness: str) -> tuple[Row, ...]:
    """Return the rows of a small grid with this harness; the seeds go through all its points."""
    grid = Grid(
        harness=(harness,),
        tasks=TASKS,
        agents=("retry",),
        faults=("none", "lost_request", "lost_ack", "late_commit", "redelivery"),
        attempts_hit=("1",),
        seeds=POINTS,
    )
    return tuple(run_all(grid.specs()))


def rows(harness: str, **wanted: str) -> list[Row]:
    """Return the rows whose fields have these values; there must be some."""
    found = [r for r in played(harness) if all(getattr(r, n) == v for n, v in wanted.items())]
    assert found, wanted
    return found


def sent_twice(found: Iterable[Row]) -> list[Row]:
    """Return the duplicates that come from more sends than were wanted."""
    return [r for r in found if r.outcome == "duplicate" and r.executed_sends > r.intended]


@every_harness
def test_nothing_breaks(harness: str) -> None:
    broken = [row for row in played(harness) if row.error is not None or row.claimed is None]
    if harness == "user_retry":  # a user who is told that it was given up does not ask again
        broken = [row for row in broken if row.error is not None]
    assert broken == []


@every_harness
def test_the_guard_sends_no_duplicate_and_lets_nothing_be_claimed_that_was_not(
    harness: str,
) -> None:
    guarded = rows(harness, condition="guard")
    assert sent_twice(guarded) == []
    assert [row for row in guarded if row.claimed == "done" and row.outcome != "exactly_once"] == []


@every_harness
def test_with_keys_the_guard_is_exactly_once(harness: str) -> None:
    outcomes = {r.outcome for r in rows(harness, condition="guard", contract="keys_everywhere")}
    assert outcomes == {"exactly_once"}


@every_harness
def test_no_escalation_is_needless(harness: str) -> None:
    found = [r for r in rows(harness, condition="guard") if r.escalated]
    assert [r for r in found if not r.escalation_needed] == []


@pytest.mark.parametrize(
    "harness",
    ["crash_resume", "double_emission", "suspended_holder", "paraphrase", "user_retry"],
)
def test_without_the_guard_it_doubles_writes_that_no_fault_hit(harness: str) -> None:
    assert sent_twice(rows(harness, condition="no_guard", fault="none"))
    assert not sent_twice(rows("none", condition="no_guard", fault="none"))


@pytest.mark.parametrize("contract", ["native", "keys_everywhere"])
def test_two_callers_do_not_take_it_from_each_other_for_ever(contract: str) -> None:
    """Nobody answers and every read fails, so each of them ends its call unresolved."""
    rows = run(
        Spec(
            contract=contract,
            fault="redelivery",
            attempts_hit="1",
            reads_hit="all",
            task="post_release",
            agent="retry",
            condition="guard",
            harness="transport_replay",
            operator="silent",
            seed=0,
        )
    )
    assert [row.error for row in rows] == [None]
