"""The table of `retry-guard bound`."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retry_guard_console._shared import show, table

if TYPE_CHECKING:
    from rich.table import Table

    from retry_guard_sandbox import bound

WIDTH = 80
_HEADING = """\
The least harm that any policy could do, against the guard: bound/guard. Sums are over all hidden
schedules with equal bytes; calls and seconds are means. Equal: duplicates, false ends and
omissions in the worst schedule, and the sum of escalations. Re-issues for both: {attempts}."""
_COLUMNS = ("dupl.", "false", "omitted", "escalated", "calls", "seconds")


def print_table(compared: Sequence["bound.Comparison"], attempts: int, *, outcomes: bool) -> bool:
    """Print the table; return whether the guard equals the bound everywhere."""
    print(f"\n{textwrap.fill(' '.join(_HEADING.format(attempts=attempts).split()), WIDTH)}\n")
    made = _table("contract", "shown", "hit", "of")
    for one in compared:
        cell = (one.contract, one.cell.shown, one.cell.script, str(one.schedules))
        numbers = _pairs(one.best, one.real, one.schedules)
        made.add_row(*cell, *numbers, "yes" if one.is_equal else "NO")
    show(made)
    if outcomes:
        for one in compared:
            _print_outcomes(one)
    for one in compared:
        if one.breach is not None:
            where = f"{one.contract}, {one.cell.shown}, {one.cell.script}"
            print(f"{where}: not equal, since the guard broke the rules of the game: {one.breach}.")
    worse = [one for one in compared if not one.is_equal]
    print(f"Cells: {len(compared)}. The guard equals the bound in {len(compared) - len(worse)}.")
    return not worse


def _print_outcomes(one: "bound.Comparison") -> None:
    print(f"{one.contract}, {one.cell.shown}, {one.cell.script}: by outcome of the first attempt")
    made, of = _table("outcome", "of"), one.schedules // len(one.bound)
    for outcome, best in one.bound.items():
        real = one.guard[outcome]
        is_equal = "yes" if best.compared == real.compared else "NO"
        made.add_row(_named(outcome), str(of), *_pairs(best, real, of), is_equal)
    show(made)


def _table(*columns: str) -> "Table":
    made = table(*columns, *_COLUMNS, "equal")
    made.padding, made.show_edge = (0, 0, 0, 1), False
    for column in made.columns[len(columns) : -1]:
        column.justify = "right"
    return made


def _named(outcome: "bound.Outcome") -> str:
    late = f" {outcome.after:g} s" if outcome.hidden == "late" else ""
    return f"{outcome.hidden}{late}"


def _pairs(best: "bound.Value", real: "bound.Value", schedules: int) -> list[str]:
    return [
        f"{best.duplicates:.10g}/{real.duplicates:.10g}",
        f"{best.false:.10g}/{real.false:.10g}",
        f"{best.omissions:.10g}/{real.omissions:.10g}",
        f"{best.escalations:.10g}/{real.escalations:.10g}",
        f"{best.calls / schedules:.1f}/{real.calls / schedules:.1f}",
        f"{best.seconds / schedules:.1f}/{real.seconds / schedules:.1f}",
    ]
