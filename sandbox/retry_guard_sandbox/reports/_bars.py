"""Stacked bars: how the cells of an arm came out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retry_guard_sandbox.grading._tally import WORST, Tally
from retry_guard_sandbox.reports._markup import Node, bar, drawing, label, tag

OUTCOMES = tuple(reversed(WORST))
"""From left to right: what is right, then what is not."""

NAMES = {
    "exactly_once": "exactly once",
    "error": "broke",
    "omission": "omission",
    "divergent": "other content",
    "duplicate": "duplicate",
}

_SIDE = 0.11
"""The share of the width that is left for what stands before a bar."""
_THICK, _GAP, _ROOM = 16, 4, 22
_FITS = 0.085
"""A number fits into a segment that is at least this share of the width, also on a phone."""


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under one name; `bars`: what stands before each, and its counts."""

    name: str
    bars: Sequence[tuple[str, Tally]]


def legend(counted: Iterable[Tally]) -> Node:
    """Return what the colours mean, of those that are there."""
    there = [outcome for outcome in OUTCOMES if any(getattr(c, outcome) for c in counted)]
    return tag("ul", {"class": "legend"}, *(tag("li", {"class": o}, NAMES[o]) for o in there))


def stacked(title: str, groups: Sequence[Group]) -> Node:
    """Draw the groups beneath each other; every bar is as wide as its arm has cells."""
    widest = max(counts.cells for group in groups for _, counts in group.bars)
    begin = _SIDE if any(side for group in groups for side, _ in group.bars) else 0.0
    shapes: list[Node] = []
    y = 0.0
    for group in groups:
        cells = group.bars[-1][1]
        shapes.append(label(0.0, y + 15, group.name, "name"))
        shapes.append(label(1.0, y + 15, f"{cells.exactly_once} of {cells.cells}", "side", "end"))
        y += _ROOM
        for side, counts in group.bars:
            shapes.append(label(0.0, y + 12, side, "side"))
            shapes.extend(_segments(counts, y, begin, (1 - begin) / widest))
            y += _THICK + _GAP
        y += 8
    return drawing(title, "; ".join(_said(group) for group in groups), y, *shapes)


def _segments(counts: Tally, y: float, x: float, scale: float) -> Iterable[Node]:
    for outcome in OUTCOMES:
        count: int = getattr(counts, outcome)
        if count:
            width = count * scale
            yield bar(x, y, width, _THICK, outcome)
            if width >= _FITS:
                yield label(x + width / 2, y + 12, str(count), f"in-{outcome}", "middle")
            x += width


def _said(group: Group) -> str:
    """Say in words what the bars show."""
    return ", ".join(f"{group.name} {side} {described(counts)}" for side, counts in group.bars)


def described(counts: Tally) -> str:
    """Say how the cells of an arm came out."""
    found = ((NAMES[name], getattr(counts, name)) for name in OUTCOMES)
    return " ".join(f"{name} {count}" for name, count in found if count)
