"""Counting rows: of one arm, and of two arms draw by draw."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retry_guard_sandbox.grading._rows import Row

Cell = tuple[str, str, str, str, int, str, str]
"""contract, fault, attempts hit, task, write, tool, agent."""


def cell_of(row: Row) -> Cell:
    """Return the cell that a row is a draw of."""
    return (
        row.contract,
        row.fault,
        row.attempts_hit,
        row.task,
        row.write,
        row.tool,
        row.agent,
    )


def name_of(cell: Cell) -> str:
    """Return the name of a cell, for a person."""
    contract, fault, hits, task, write, tool, agent = cell
    return f"{contract} {fault} (hits {hits}) {task}[{write}] {tool} {agent}"


def is_false_completion(row: Row) -> bool:
    """Whether the agent said that it was done, and this was not exactly once."""
    return row.claimed == "done" and row.outcome != "exactly_once"


def ran_twice_by_itself(row: Row) -> bool:
    """Whether all surplus effects come from deliveries of one send."""
    return row.executed_sends <= max(row.intended, 1)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of logical writes in one arm; `episodes` and the escalations likewise."""

    episodes: int
    writes: int
    exactly_once: int
    duplicates: int
    omissions: int
    divergent: int
    errors: int
    false_completions: int
    needed: int
    needless: int


def tally(rows: Sequence[Row]) -> Tally:
    """Count the rows of one arm."""
    outcomes = [row.outcome for row in rows]
    handed = [row.escalation_needed for row in rows if row.escalated]
    return Tally(
        episodes=len(
            {
                (r.contract, r.fault, r.attempts_hit, r.task, r.agent, r.operator, r.seed)
                for r in rows
            }
        ),
        writes=len(rows),
        exactly_once=outcomes.count("exactly_once"),
        duplicates=outcomes.count("duplicate"),
        omissions=outcomes.count("omission"),
        divergent=outcomes.count("divergent"),
        errors=outcomes.count("error"),
        false_completions=sum(map(is_false_completion, rows)),
        needed=sum(handed),
        needless=len(handed) - sum(handed),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A cell in which some draws came out differently. `draws`: how many of `of`."""

    cell: Cell
    draws: int
    of: int


def changes(off: Iterable[Row], on: Iterable[Row]) -> tuple[list[Change], list[Change]]:
    """Pair the arms draw by draw; return the cells that the second helped, and harmed.

    Helped: not exactly once in the first arm, and exactly once in the second. Harmed: the
    reverse. A cell can be both, in different draws.
    """
    first = {(*cell_of(row), row.operator, row.seed): row for row in off}
    helped, harmed, draws = dict[Cell, int](), dict[Cell, int](), dict[Cell, int]()
    for row in on:
        before = first.get((*cell_of(row), row.operator, row.seed))
        if before is None:
            continue
        cell = cell_of(row)
        draws[cell] = draws.get(cell, 0) + 1
        was, now = before.outcome == "exactly_once", row.outcome == "exactly_once"
        if was != now:
            tallied = harmed if was else helped
            tallied[cell] = tallied.get(cell, 0) + 1
    return (
        [Change(cell, count, draws[cell]) for cell, count in helped.items()],
        [Change(cell, count, draws[cell]) for cell, count in harmed.items()],
    )
