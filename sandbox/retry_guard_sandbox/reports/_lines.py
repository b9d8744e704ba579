"""The numbers of a report: one contract under one fault in two arms, and each arm as a whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from retry_guard_sandbox.grading._census import Cell, Census
from retry_guard_sandbox.grading._tally import Changes, Tally, changes, quantile, tally

COLUMNS = (
    "fault",
    "cells",
    "duplicates",
    "omissions",
    "falsely done",
    "exactly once",
    "asked: needed",
    "asked: needless",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One contract under one fault in one arm; `off` is the arm that it is held against."""

    contract: str
    fault: str
    condition: str
    off: Tally | None
    on: Tally
    changes: Changes

    def texts(self) -> tuple[str, ...]:
        """Return what stands in the columns: off/on, where there is an arm to hold against."""
        on = self.on.columns()
        if self.off is None:
            return (self.fault, *map(str, on))
        cells, *counts = (f"{off}/{on}" for off, on in zip(self.off.columns(), on, strict=True))
        return (self.fault, cells if self.off.cells != self.on.cells else str(on[0]), *counts)


@dataclass(frozen=True, slots=True)
class Spread:
    """What half of the writes did not exceed, and 95 % of them."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One arm under one contract: counts over all faults, and what a write took.

    `helped`, `harmed`: cells, against the arm that it is held against. `seconds` are virtual.
    `tokens`: None where no model took part.
    """

    contract: str
    condition: str
    counts: Tally
    helped: int
    harmed: int
    calls: Spread
    seconds: Spread
    tokens: Spread | None


def lines_of(census: Census, baseline: str | None) -> Iterator[Line]:
    """Yield the lines, by contract, arm and fault."""
    places: dict[str, dict[str, list[Cell]]] = {}
    for cell in census.cells:
        places.setdefault(cell.contract, {}).setdefault(cell.fault, []).append(cell)
    for faults in places.values():
        for condition in (name for name in census.conditions if name != baseline):
            for cells in faults.values():
                if any(condition in census.cells[cell] for cell in cells):
                    yield _line(census, cells, baseline, condition)


def _line(census: Census, cells: Sequence[Cell], baseline: str | None, condition: str) -> Line:
    return Line(
        contract=cells[0].contract,
        fault=cells[0].fault,
        condition=condition,
        off=None if baseline is None else _tally(census, cells, baseline, condition),
        on=_tally(census, cells, condition, condition),
        changes=Changes() if baseline is None else changes(census, cells, baseline, condition),
    )


def _tally(census: Census, cells: Iterable[Cell], arm: str, beside: str) -> Tally:
    """Count an arm, where the other has episodes too: agents may be left out of one."""
    return tally(
        census.cells[cell][arm]
        for cell in cells
        if arm in census.cells[cell] and beside in census.ran[cell.place]
    )


def summaries_of(census: Census, lines: Iterable[Line]) -> Iterator[Summary]:
    """Yield each arm as a whole, by contract, also the one that others are held against."""
    changed: dict[tuple[str, str], list[Changes]] = {}
    for line in lines:
        changed.setdefault((line.contract, line.condition), []).append(line.changes)
    for contract in dict.fromkeys(cell.contract for cell in census.cells):
        cells = [cell for cell in census.cells if cell.contract == contract]
        for condition in census.conditions:
            if (contract, condition) in census.costs:
                costs = census.costs[contract, condition]
                found = changed.get((contract, condition), [])
                yield Summary(
                    contract=contract,
                    condition=condition,
                    counts=_tally(census, cells, condition, condition),
                    helped=sum(len(one.helped) for one in found),
                    harmed=sum(len(one.harmed) for one in found),
                    calls=_spread(costs.calls),
                    seconds=_spread(costs.seconds),
                    tokens=_spread(costs.tokens) if costs.tokens else None,
                )


def _spread(values: Iterable[float]) -> Spread:
    ordered = sorted(values)
    return Spread(quantile(ordered, 0.5), quantile(ordered, 0.95))
