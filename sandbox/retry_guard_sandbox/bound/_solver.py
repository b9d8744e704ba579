"""The best that any policy could do: backward induction over information sets, exact.

At each information set the move is taken whose value is the least, compared as `Value` says;
of equal ones, the first in `moves`. What is least in each set is least in all: sums over a set
are sums over the sets that follow it, and where the worst is none, it is none in each of them.
Only where harm cannot be avoided altogether is it counted set by set, and harm in one is no
excuse for harm in another.

What makes no duplicate and ends with nothing false is better than what does. So such policies
are searched first, and all others only where there is none.
"""

from retry_guard_sandbox.bound._beliefs import Belief, History, decisive
from retry_guard_sandbox.bound._game import Cell
from retry_guard_sandbox.bound._moves import Move, first, moves
from retry_guard_sandbox.bound._schedules import outcomes, surplus
from retry_guard_sandbox.bound._steps import Step, take
from retry_guard_sandbox.bound._value import Value, harm

Best = tuple[Value, Move]


def begun(cell: Cell) -> tuple[Belief, Step]:
    """Return what is known before the first send, and that send.

    The weight is a power of the number of outcomes that every choice divides.
    """
    rules = cell.rules
    sends = (1 + rules.attempts) * (1 + rules.fresh_sends)
    nothing = Belief(History(), (((), len(outcomes(cell)) ** sends),))
    return nothing, take(cell, nothing, first(cell))


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
        return len(self._clean)

    def best(self, belief: Belief) -> Best:
        """Return the least value from here on, and the move that leads to it."""
        clean = self._cleanest(belief)
        if clean is not None:
            return clean
        if belief not in self._any:
            steps = [(move, take(self.cell, belief, move)) for move in moves(self.cell, belief)]
            valued = [(self.value(belief, step), move) for move, step in steps]
            self._any[belief] = min(valued, key=lambda best: best[0])
        return self._any[belief]

    def value(self, belief: Belief, step: Step) -> Value:
        """Return the value of a step, with the best of what follows."""
        value = cost(self.cell, belief, step)
        for after in step.after.values():
            value = value.plus(self.best(after)[0])
        return value

    def _cleanest(self, belief: Belief) -> Best | None:
        """Return the best that makes no duplicate and says nothing false; None: nothing does."""
        if belief not in self._clean:
            self._clean[belief] = None if self._is_soiled(belief) else self._searched(belief)
        return self._clean[belief]

    def _searched(self, belief: Belief) -> Best | None:
        best: Best | None = None
        for move in moves(self.cell, belief):
            uncleared = move.kind == "anew" and not belief.history.cleared
            if uncleared and _could_double(self.cell, belief, move):
                continue
            value = self._clean_value(belief, take(self.cell, belief, move), best)
            if value is not None and (best is None or value < best[0]):
                best = value, move
        return best

    def _clean_value(self, belief: Belief, step: Step, best: Best | None) -> Value | None:
        """Return the value of a step; None: it is not clean, or no better than what is known."""
        value = cost(self.cell, belief, step)
        for after in step.after.values():
            then = self._cleanest(after)
            if then is None:
                return None
            value = value.plus(then[0])
            if best is not None and value > best[0]:
                return None
        return None if value.duplicates or value.false else value

    def _is_soiled(self, belief: Belief) -> bool:
        """Whether a duplicate has happened, or can no more be prevented."""
        can_stop = self.cell.rules.operator and not belief.history.cleared
        until = belief.history.now if can_stop else float("inf")
        return any(
            surplus(tuple(effect for effect in effects if effect.at <= until))
            for effects, _ in belief.possible
            if len(effects) > 1
        )


def cost(cell: Cell, belief: Belief, step: Step) -> Value:
    """Return what a step costs by itself, with the ends that it has."""
    weight = belief.weight
    duplicates = false = omissions = worst_duplicates = worst_false = worst_omissions = 0
    for end in step.ends:
        extra, untrue, missing = harm(end.claim, end.effects, cell.tool.parts)
        worst_duplicates = max(worst_duplicates, extra)
        worst_false = max(worst_false, untrue)
        worst_omissions = max(worst_omissions, missing)
        duplicates += extra * end.weight
        false += untrue * end.weight
        omissions += missing * end.weight
    return Value(
        worst_duplicates=worst_duplicates,
        duplicates=duplicates,
        worst_false=worst_false,
        false=false,
        worst_omissions=worst_omissions,
        omissions=omissions,
        escalations=step.escalations * weight,
        calls=step.calls * weight,
        seconds=step.seconds * weight,
    )


def _could_double(cell: Cell, belief: Belief, move: Move) -> bool:
    """Whether a send with a fresh key, or none, would do a part once too often in some schedule.

    While a request may still run it may yet do what it has not done, batches item by item; and
    there is a commit time between the new send and whatever would stop the old one.
    """
    if belief.history.now < decisive(cell, belief.history):
        return True
    return any(e.part in move.parts for effects, _ in belief.possible for e in effects)
