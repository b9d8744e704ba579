"""Every policy of a small game, without any shortcut: what the solver is held against."""

from collections.abc import Iterator
from functools import cache

from retry_guard_sandbox.bound._beliefs import Belief
from retry_guard_sandbox.bound._game import Cell
from retry_guard_sandbox.bound._moves import moves
from retry_guard_sandbox.bound._solver import begun, cost
from retry_guard_sandbox.bound._steps import Step, take
from retry_guard_sandbox.bound._value import Value


def every_value(cell: Cell) -> frozenset[Value]:
    """What each policy of a cell is worth: any move at any information set."""

    @cache
    def after(belief: Belief) -> frozenset[Value]:
        steps = (take(cell, belief, move) for move in moves(cell, belief))
        return frozenset(value for step in steps for value in through(belief, step))

    def through(belief: Belief, step: Step) -> Iterator[Value]:
        values = {cost(cell, belief, step)}
        for then in step.after.values():
            values = {value.plus(more) for value in values for more in after(then)}
        yield from values

    return frozenset(through(*begun(cell)))
