"""Lists below the tables of a report: short, so that the verdict stays on the screen."""

import textwrap
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from retry_guard_console._shared import shown

if TYPE_CHECKING:
    from retry_guard_sandbox import Left

WIDTH = 80
_MOST, _FIRST = 10, 3
"""How many items are shown of a list, and how many places of each kind of duplicate."""
_REST = "and {count} more: --html FILE names each"


def print_items(title: str, items: Sequence[str]) -> None:
    """Print a list; of a long one, the first items."""
    print(f"{title}:{'' if items else ' none'}")
    _print(items, _MOST, "  ")


def print_left(left: "Sequence[Left]") -> None:
    """Print which duplicates remain: how many of each kind, and where the first are."""
    print(f"Duplicates that remain:{'' if left else ' none'}")
    for reason in dict.fromkeys(one.reason for one in left):
        kind = [one for one in left if one.reason == reason]
        cells, draws = sum(one.cells for one in kind), sum(one.draws for one in kind)
        print(textwrap.fill(f"  {reason}: {cells:,} cells, {draws:,} draws", WIDTH))
        _print([f"{one.place}: {one.many}" for one in kind], _FIRST, "    ")


def _print(items: Sequence[str], most: int, indent: str) -> None:
    if len(items) == most + 1:  # the line that counts the rest has room for it
        most += 1
    for item in islice(items, most):
        deeper = f"{indent}    "
        print(textwrap.fill(shown(item), WIDTH, initial_indent=indent, subsequent_indent=deeper))
    if len(items) > most:
        print(f"{indent}{_REST.format(count=len(items) - most)}")
