"""What a policy knows: what it has seen so far, and every schedule that would have looked the same.

No probabilities: a schedule is possible or it is not. Weights only count the schedules that have
the same effects, so that sums over all of them stay whole numbers.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from retry_guard_sandbox.bound._game import Cell
from retry_guard_sandbox.bound._schedules import Effects


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What has been done and seen, as far as it still matters.

    `now`: seconds since the first send began. `ended`: when the last send ended.
    `sends`, `tries`, `key`, `fresh`: how many sends, of them re-issues under this key, keys so
    far, of them those after the first. `cleared`: the operator said that it did not happen.
    `looked`: when the last read was made, if one was since the last send. `missing`: the parts
    that are known to be absent.
    """

    now: float = 0.0
    ended: float = 0.0
    sends: int = 0
    tries: int = 0
    key: int = 0
    fresh: int = 0
    cleared: bool = False
    looked: float | None = None
    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Belief:
    """An information set: all that a policy may act on."""

    history: History
    possible: tuple[tuple[Effects, int], ...]

    @property
    def weight(self) -> int:
        """How many schedules are possible."""
        return sum(weight for _, weight in self.possible)

    def next_change(self, cell: Cell) -> float:
        """Return when next something changes, or could be told, in any possible schedule."""
        lag, now = cell.tool.lag or 0.0, self.history.now
        times = {
            effect.at + delay
            for effects, _ in self.possible
            for effect in effects
            for delay in (0.0, lag)
        }
        times.add(decisive(cell, self.history))
        return min((time for time in times if time > now), default=inf)


def merged(history: History, possible: Iterable[tuple[Effects, int]]) -> Belief:
    """Return a belief in which equal effects are counted together."""
    counted: Counter[Effects] = Counter()
    for effects, weight in possible:
        counted[effects] += weight
    return Belief(history, tuple(sorted(counted.items())))


def decisive(cell: Cell, history: History) -> float:
    """Return from when on a look that shows nothing proves that nothing will happen."""
    tool = cell.tool
    return inf if tool.lag is None else history.ended + tool.bound + tool.lag
