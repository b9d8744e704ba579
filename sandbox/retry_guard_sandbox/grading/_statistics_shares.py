"""Shapley shares: how much of the variance of an outcome each factor accounts for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial, prod
from statistics import fmean, pvariance

from retry_guard import GuardError

Levels = tuple[str, ...]


class ShareError(GuardError):
    """There are no shares. The message says why."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of each factor in Var(Y). They add up to `explained`; the rest is within cells."""

    of: Mapping[str, float]

    @property
    def explained(self) -> float:
        """What all factors together account for."""
        return sum(self.of.values())


def shares(factors: Sequence[str], values: Mapping[Levels, Sequence[float]]) -> Shares:
    """Return the Shapley shares of v(S) = Var(E[Y|S]) / Var(Y).

    `values`: the values of Y by the levels of the factors. Raises `ShareError` where they are not
    balanced (each combination of levels, with as many values), where a factor has one level, and
    where Y does not vary.
    """
    _refuse_unbalanced(factors, values)
    whole = pvariance([value for cell in values.values() for value in cell])
    if whole == 0:
        raise ShareError("the outcome does not vary, so there is nothing to share out")
    places = range(len(factors))
    subsets = [s for size in range(len(factors) + 1) for s in combinations(places, size)]
    worth = {frozenset(s): _between(values, s) / whole for s in subsets}
    return Shares({name: _share(place, len(factors), worth) for place, name in enumerate(factors)})


def _share(place: int, count: int, worth: Mapping[frozenset[int], float]) -> float:
    """Average what a factor adds, over all orders in which factors can be added."""
    return sum(
        factorial(len(others)) * factorial(count - len(others) - 1) / factorial(count)
        * (worth[others | {place}] - worth[others])
        for others in worth
        if place not in others
    )  # fmt: skip


def _between(values: Mapping[Levels, Sequence[float]], subset: tuple[int, ...]) -> float:
    """Return Var(E[Y|S]); the cells are balanced, so each level counts alike."""
    groups: dict[Levels, list[float]] = {}
    for levels, cell in values.items():
        groups.setdefault(tuple(levels[i] for i in subset), []).append(fmean(cell))
    return pvariance([fmean(means) for means in groups.values()])


def _refuse_unbalanced(factors: Sequence[str], values: Mapping[Levels, Sequence[float]]) -> None:
    levels = [sorted({cell[i] for cell in values}) for i in range(len(factors))]
    for factor, found in zip(factors, levels, strict=True):
        if len(found) < 2:  # noqa: PLR2004 - a factor that never changes explains nothing
            raise ShareError(f"{factor} has one level, so it cannot account for anything")
    full = prod(map(len, levels)) == len(values) and all(c in values for c in product(*levels))
    if not full or len({len(cell) for cell in values.values()}) != 1:
        raise ShareError(
            "the cells are not balanced: each combination of "
            f"{', '.join(factors)} needs as many episodes"
        )
