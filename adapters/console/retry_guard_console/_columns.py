"""Narrow tables of numbers: a report of many columns fits a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from retry_guard_console._shared import shown, table

if TYPE_CHECKING:
    from rich.table import Table

_NARROW = 16


def folded(name: str) -> str:
    """Return a name in as many lines as it needs to be narrow."""
    lines = [""]
    for part in shown(name).replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1] + part) > _NARROW:
            lines.append("")
        lines[-1] += part
    return "\n ".join(lines)


def numbers(columns: Sequence[str]) -> "Table":
    """Return an empty table of narrow columns, whose first one names the row."""
    made = table(*(name.replace(" ", "\n", 1) for name in columns))
    made.padding, made.show_edge = (0, 0, 0, 1), False
    for column in made.columns[1:]:
        column.justify = "right"
    return made
