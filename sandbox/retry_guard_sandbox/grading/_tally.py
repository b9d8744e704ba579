"""Counting cells: of one arm, each once, by its worst draw; and of two arms, draw by draw."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from retry_guard_sandbox.grading._census import Cell, Census, Draw, Draws
from retry_guard_sandbox.grading._rows import OutcomeName
from retry_guard_sandbox.services import TOOLS

WORST: tuple[OutcomeName, ...] = ("duplicate", "divergent", "omission", "error", "exactly_once")
"""The outcomes, from the worst to the best."""

_RANK: Mapping[OutcomeName, int] = MappingProxyType({name: i for i, name in enumerate(WORST)})
MOST_ITEMS = 64
"""Writes of a task among which the items of a batch are looked for."""

_NO_STRAY = Draw("exactly_once", done=False, escalated=False, needed=False, resent=False)


def worst(draws: Draws) -> OutcomeName:
    """Return the worst outcome of a cell."""
    return _kind(frozenset(draws.values())).outcome


class _Kind(NamedTuple):
    outcome: OutcomeName
    falsely_done: bool
    needed: bool
    needless: bool
    varying: bool


@cache
def _kind(different: frozenset[Draw]) -> _Kind:
    """Return what a cell with these draws counts as; few sets of draws are possible."""
    return _Kind(
        outcome=min(different, key=lambda draw: _RANK[draw.outcome]).outcome,
        falsely_done=any(draw.is_false_completion for draw in different),
        needed=any(draw.needed for draw in different),
        needless=any(draw.escalated and not draw.needed for draw in different),
        varying=len(different) > 1,
    )


@dataclass(slots=True)
class Tally:
    """How many cells of one arm there are, by their worst draw, whose five counts are disjoint.

    `falsely_done`, `needed`, `needless`: cells in which some draw is such. `varying`: cells whose
    draws differ. `draws`: how many there are in all.
    """

    cells: int = 0
    draws: int = 0
    exactly_once: int = 0
    duplicate: int = 0
    omission: int = 0
    divergent: int = 0
    error: int = 0
    falsely_done: int = 0
    needed: int = 0
    needless: int = 0
    varying: int = 0

    def add(self, draws: Draws) -> None:
        """Count one cell."""
        kind = _kind(frozenset(draws.values()))
        self.cells += 1
        self.draws += len(draws)
        setattr(self, kind.outcome, getattr(self, kind.outcome) + 1)
        self.falsely_done += kind.falsely_done
        self.needed += kind.needed
        self.needless += kind.needless
        self.varying += kind.varying

    def columns(self) -> tuple[int, ...]:
        """Return the counts that a table of arms shows."""
        return (
            self.cells,
            self.duplicate,
            self.omission,
            self.falsely_done,
            self.exactly_once,
            self.needed,
            self.needless,
        )


def tally(cells: Iterable[Draws]) -> Tally:
    """Count cells of one arm."""
    counted = Tally()
    for draws in cells:
        counted.add(draws)
    return counted


@dataclass(frozen=True, slots=True)
class Change:
    """A cell in which some draws came out differently in another arm: `draws` of `of`."""

    cell: Cell
    draws: int
    of: int

    @property
    def name(self) -> str:
        """What it is, for a person."""
        return f"{self.cell.name}: {self.draws} of {self.of} draws"


@dataclass(frozen=True, slots=True)
class Changes:
    """Cells that an arm helped (exactly once in it only), and harmed (the reverse).

    A cell can be both, in different draws.
    """

    helped: tuple[Change, ...] = ()
    harmed: tuple[Change, ...] = ()


def pairs(census: Census, cell: Cell, off: str, on: str) -> Iterator[tuple[Draw, Draw]]:
    """Yield the draws of a cell that both arms have; no stray in one of them is a good draw."""
    if not {off, on} <= census.ran[cell.place]:
        return
    arms = _whole(census, cell)
    first, second = arms.get(off, {}), arms.get(on, {})
    for seed in sorted({*first, *second} if cell.is_stray else first.keys() & second.keys()):
        yield first.get(seed, _NO_STRAY), second.get(seed, _NO_STRAY)


def _whole(census: Census, cell: Cell) -> Mapping[str, Draws]:
    """Return the draws of a cell by arm; of a batch's item, those of the whole batch.

    A batch is one call: one item of it that came out well, while others were doubled or are
    missing, is no success that another arm could spoil. Each draw is that of its worst item.
    """
    tool = TOOLS.get(cell.tool)
    if cell.is_stray or tool is None or tool.batch is None:
        return census.cells[cell]
    others = (cell._replace(write=number) for number in range(MOST_ITEMS))
    items = [census.cells[other] for other in others if other in census.cells]
    return {
        arm: {
            seed: min((i[arm][seed] for i in items if seed in i.get(arm, {})), key=_rank)
            for seed in draws
        }
        for arm, draws in census.cells[cell].items()
    }


def _rank(draw: Draw) -> int:
    return _RANK[draw.outcome]


def changes(census: Census, cells: Iterable[Cell], off: str, on: str) -> Changes:
    """Compare two arms in these cells, draw by draw."""
    helped, harmed = list[Change](), list[Change]()
    for cell in cells:
        drawn = list(pairs(census, cell, off, on))
        good = [tuple(one.outcome == "exactly_once" for one in pair) for pair in drawn]
        for change, found in (((False, True), helped), ((True, False), harmed)):
            if count := good.count(change):
                found.append(Change(cell, count, len(drawn)))
    return Changes(tuple(helped), tuple(harmed))


def unpaired(census: Census, off: str, on: str) -> int:
    """Return how many draws one of two arms lacks, in the cells that both have."""
    both = (arms for cell, arms in census.cells.items() if not cell.is_stray)
    return sum(len(arms[off].keys() ^ arms[on].keys()) for arms in both if {off, on} <= set(arms))


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(ceil(len(ordered) * share), 1) - 1]
