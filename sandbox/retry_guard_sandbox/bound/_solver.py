"""The best that any policy could do: backward induction over information sets, exact.

At each information set the move is taken whose value is the least, compared as `Value` says;
of equal ones, the first in `moves`. Sums over the schedules of an information set are sums over
the sets that follow, so what is least in each is least in all.

A policy that makes no duplicate and ends with nothing false is better than any that does. So
those are searched first, and all others only where there is none.
"""

from retry_guard_sandbox.bound._beliefs import Belief
from retry_guard_sandbox.bound._game import Cell
from retry_guard_sandbox.bound._moves import Move, Step, moves, take
from retry_guard_sandbox.bound._schedules import surplus
from retry_guard_sandbox.bound._value import Value, ended

Best = tuple[Value, Move]


class Solver:
    """Solves one cell. It remembers every information set that it has met."""

    def __init__(self, cell: Cell) -> None:
        """Prepare; nothing is solved yet."""
        self.cell = cell
        self._clean: dict[Belief, Best | None] = {}
        self._any: dict[Belief, Best] = {}

    @property
    def sets(self) -> int:
        """How many information sets were met."""
        return len(self._clean.keys() | self._any.keys())

    def best(self, belief: Belief) -> Best:
        """Return the least value from here on, and the move that leads to it."""
        clean = self._cleanest(belief)
        if clean is not None:
            return clean
        if belief not in self._any:
            steps = ((move, take(self.cell, belief, move)) for move in moves(self.cell, belief))
            self._any[belief] = min(
                ((self._value(belief, step), move) for move, step in steps), key=lambda b: b[0]
            )
        return self._any[belief]

    def _value(self, belief: Belief, step: Step) -> Value:
        value = self.cost(belief, step)
        for after in step.after.values():
            value = value.plus(self.best(after)[0])
        return value

    def _cleanest(self, belief: Belief) -> Best | None:
        """Return the best of what makes no duplicate and says nothing false; None: there is none."""
        if belief not in self._clean:
            self._clean[belief] = None if self._is_soiled(belief) else self._searched(belief)
        return self._clean[belief]

    def _searched(self, belief: Belief) -> Best | None:
        best: Best | None = None
        for move in moves(self.cell, belief):
            if move.kind == "anew" and self._would_double(belief):
                continue
            step = take(self.cell, belief, move)
            value: Value | None = self.cost(belief, step)
            for after in step.after.values():
                then = self._cleanest(after)
                value = None if then is None else value.plus(then[0])
                if value is None or (best is not None and value > best[0]):
                    value = None
                    break
            if value is None or value.duplicates or value.false:
                continue
            if best is None or value < best[0]:
                best = value, move
        return best

    def _would_double(self, belief: Belief) -> bool:
        now = belief.history.now
        return any(effects and effects[0].at <= now for effects, _ in belief.possible)

    def _is_soiled(self, belief: Belief) -> bool:
        """Whether a duplicate has happened, or can no more be prevented."""
        can_ask = belief.history.answers < self.cell.rules.answers
        now = belief.history.now
        for effects, _ in belief.possible:
            if len(effects) > 1 and surplus(
                tuple(e for e in effects if e.at <= now) if can_ask else effects
            ):
                return True
        return False

    def cost(self, belief: Belief, step: Step) -> Value:
        """Return what a step costs by itself, with the ends that it has."""
        weight = belief.weight
        value = Value(
            escalations=step.escalations * weight,
            calls=step.calls * weight,
            seconds=step.seconds * weight,
        )
        for end in step.ends:
            value = value.plus(ended(end.claim, end.effects, self.cell.tool.parts, end.weight))
        return value
