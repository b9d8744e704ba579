"""What a policy is worth, by what really became of its first attempt."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from retry_guard_sandbox.bound._beliefs import Belief
from retry_guard_sandbox.bound._game import Cell
from retry_guard_sandbox.bound._moves import Move, first, moves
from retry_guard_sandbox.bound._schedules import Effects, Outcome, Send, arrived, outcomes
from retry_guard_sandbox.bound._solver import Solver, begun, cost
from retry_guard_sandbox.bound._steps import take
from retry_guard_sandbox.bound._value import Value

Choose = Callable[[Belief], Move]
"""A policy: the move at an information set."""


class Courses(NamedTuple):
    """What a policy is worth, by the outcome of the first attempt.

    The sums are over all schedules of `hits` attempts: the most that are hit in any play.
    """

    by_outcome: Mapping[Outcome, Value]
    hits: int


def best_courses(cell: Cell) -> Courses:
    """Return the courses of the best policy."""
    solver = Solver(cell)
    return courses(cell, lambda belief: solver.best(belief)[1])


def reissued_courses(cell: Cell) -> Courses:
    """Return the courses of the policy that re-issues under the recorded key until answered."""

    def reissue(belief: Belief) -> Move:
        return next(move for move in moves(cell, belief) if move.kind == "reissue")

    return courses(cell, reissue)


def courses(cell: Cell, choose: Choose) -> Courses:
    """Return the courses of a policy."""
    nothing, step = begun(cell)
    (belief,), every = step.after.values(), outcomes(cell)
    weight = nothing.weight // len(every)
    sent = Value(calls=weight, seconds=step.seconds * weight)
    played = {
        outcome: _course(cell, choose, belief, Belief(belief.history, ((effects, weight),)))
        for outcome, effects in zip(every, _first_effects(cell), strict=True)
    }
    hits = max(deepest for _, deepest in played.values())
    spare = nothing.weight // len(every) ** hits
    by_outcome = {outcome: sent.plus(value).over(spare) for outcome, (value, _) in played.items()}
    return Courses(by_outcome, hits)


def _first_effects(cell: Cell) -> list[Effects]:
    send = Send(1, 0.0, 1, first(cell).parts)
    return [arrived((), send, outcome, keyed=cell.tool.keyed) for outcome in outcomes(cell)]


def _course(cell: Cell, choose: Choose, belief: Belief, part: Belief) -> tuple[Value, int]:
    """Return what a policy is worth in a part of what it holds possible, and the most hits."""
    move = choose(belief)
    whole, step = take(cell, belief, move), take(cell, part, move)
    value, hits = cost(cell, part, step), belief.history.sends
    for seen, after in step.after.items():
        then, deepest = _course(cell, choose, whole.after[seen], after)
        value, hits = value.plus(then), max(hits, deepest)
    return value, hits
