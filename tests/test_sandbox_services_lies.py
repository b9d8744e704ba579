"""What a lying contract costs, and what an honest one with stored errors does, in episodes."""

from itertools import product

import pytest

from retry_guard_sandbox import Row, Spec, run
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._variants import LIES
from sandbox_sites import BATCHES, WRITES

SINGLE_STEP = {
    task.steps[0].tool: task.name for task in reversed(list(TASKS.values())) if len(task.steps) == 1
}
SEEDS = range(3)
SHOWS_IT = {
    "lag_understated": "lost_ack",
    "bound_understated": "late_commit",
    "key_ignored": "lost_ack",
    "key_forgotten": "lost_ack",
}
KEYED = [tool for tool in WRITES if tool not in BATCHES]
every_lie = pytest.mark.parametrize("lie", sorted(LIES))


def guarded(tool: str, contract: str, fault: str, *, stored_500: bool = False) -> list[Row]:
    """Run the task of one step of a tool with the guard, for some seeds."""
    specs = [
        Spec(
            contract=contract,
            fault=fault,
            attempts_hit="1",
            task=SINGLE_STEP[tool],
            agent="retry",
            condition="guard",
            seed=seed,
            stored_500=stored_500,
        )
        for seed in SEEDS
    ]
    return [row for spec in specs for row in run(spec)]


@every_lie
def test_under_a_lie_the_guard_duplicates_and_without_it_it_does_not(lie: str) -> None:
    for tool in (tool for tool in LIES[lie].tools if tool not in BATCHES):
        lied_to = guarded(tool, lie, SHOWS_IT[lie])
        told_the_truth = guarded(tool, LIES[lie].contracts, SHOWS_IT[lie])
        assert "duplicate" in {row.outcome for row in lied_to}, tool
        assert {row.outcome for row in told_the_truth} == {"exactly_once"}, tool
        assert {row.contract for row in lied_to} == {lie}


@every_lie
def test_a_lie_about_some_tools_changes_nothing_for_the_others(lie: str) -> None:
    for tool in (tool for tool in WRITES if tool not in LIES[lie].tools):
        assert [row.outcome for row in guarded(tool, lie, SHOWS_IT[lie])] == [
            row.outcome for row in guarded(tool, LIES[lie].contracts, SHOWS_IT[lie])
        ]


def test_with_stored_errors_a_key_gives_no_second_chance_and_the_guard_no_duplicate() -> None:
    for tool, fault in product(KEYED, ("error_before", "error_after")):
        stored = guarded(tool, "keys_everywhere", fault, stored_500=True)
        free = guarded(tool, "keys_everywhere", fault)
        assert {row.outcome for row in stored} <= {"exactly_once", "omission"}, (tool, fault)
        assert {row.outcome for row in free} == {"exactly_once"}
        assert all(row.calls > other.calls for row, other in zip(stored, free, strict=True))
        assert {row.stored_500 for row in stored} == {True}
