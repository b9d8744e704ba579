"""The study's two propositions, by enumeration."""

from collections.abc import Mapping
from typing import NamedTuple

from retry_guard_sandbox.bound._courses import courses, reissued_courses
from retry_guard_sandbox.bound._game import SHOWN, Cell, Rules, Script, Shown, Tool
from retry_guard_sandbox.bound._schedules import Hidden
from retry_guard_sandbox.bound._solver import Solver
from retry_guard_sandbox.bound._value import Value, total

HORIZONS = (60.0, 600.0, 3_600.0)
"""Seconds for which a policy may look, where no request is bounded."""


class Tried(NamedTuple):
    """One game that was enumerated: what the best policy is worth, over how many sets."""

    cell: Cell
    best: Value
    sets: int


def without_keys_or_people() -> list[Tried]:
    """Return the best of all policies that have no key, nobody to ask, and no in-flight bound.

    None is exactly once: a lost request and one that is still under way look the same for as
    long as anybody looks, and what makes one right makes the other wrong. How long that is, and
    whether the read lags, makes no difference.
    """
    return [
        _solved(Cell(tool=tool, shown="timeout", script="1", rules=_alone(horizon)))
        for tool in (Tool(lag=0.0), Tool(lag=30.0), Tool())
        for horizon in HORIZONS
    ]


def _alone(horizon: float) -> Rules:
    return Rules(operator=False, deadline=horizon)


def _solved(cell: Cell) -> Tried:
    solver = Solver(cell)
    best = courses(cell, lambda belief: solver.best(belief)[1])
    return Tried(cell, total(best.by_outcome.values()), solver.sets)


class Reissued(NamedTuple):
    """What re-issuing under the recorded key is worth, by what became of the first attempt."""

    cell: Cell
    by_hidden: Mapping[Hidden, Value]


def with_the_same_key() -> list[Reissued]:
    """Return what comes of a write of two parts that is re-issued under its key until answered.

    It is exactly once in all five hidden outcomes, in every schedule, and nobody is asked.
    """
    return [_reissued(shown, script) for shown in SHOWN for script in ("1", "2")]


def _reissued(shown: Shown, script: Script) -> Reissued:
    cell = Cell(tool=Tool(keyed=True, parts=2), shown=shown, script=script)
    by_hidden: dict[Hidden, Value] = {}
    for outcome, value in reissued_courses(cell).by_outcome.items():
        by_hidden[outcome.hidden] = by_hidden.get(outcome.hidden, Value()).plus(value)
    return Reissued(cell, by_hidden)
