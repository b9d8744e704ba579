"""Statistics of paired differences, one for each task: episodes of a task are not independent.

Nothing here knows rows. Chance is seeded: equal numbers give equal answers.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from retry_guard_sandbox.grading._statistics_terms import CONFIDENCE, Interval

FLIPS = 100_000
"""Draws of the sign-flip test where there are more patterns of signs than that."""
RESAMPLES = 9_999
EQUAL = 1e-9
"""Rates so near are one rate, computed in another order."""
_SEED = 0
_EXACT, _BATCH = 16, 10_000


def sign_flip(differences: Sequence[float]) -> float:
    """Return the two-sided p of the hypothesis that each difference may as well be reversed.

    Exact, over all patterns of signs, up to 16 tasks; else from `FLIPS` seeded draws, with the
    observed pattern counted among them. Means that differ by less than `EQUAL` are ties.
    """
    values = np.asarray(differences, dtype=np.float64)
    as_far = len(values) * EQUAL
    observed = abs(float(values.sum())) - as_far
    if len(values) <= _EXACT:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate((sums + value, sums - value))
        return float(np.mean(np.abs(sums) >= observed))
    rng, further = np.random.default_rng(_SEED), 0
    for _ in range(FLIPS // _BATCH):
        signs = rng.choice(np.array([-1.0, 1.0]), size=(_BATCH, len(values)))
        further += int(np.count_nonzero(np.abs(signs @ values) >= observed))
    return (further + 1) / (FLIPS + 1)


def holm(ps: Mapping[str, float]) -> dict[str, float]:
    """Return each p, adjusted by Holm for having asked as often as there are names."""
    adjusted, largest = dict[str, float](), 0.0
    for rank, name in enumerate(sorted(ps, key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in ps}


def bootstrap(differences: Sequence[float]) -> Interval | None:
    """Return the percentile interval of their mean, over tasks; None: fewer than two tasks.

    Where all differences are equal, to within `EQUAL`, resampling them shows nothing of how tasks
    differ: then it is as far from them as what no task showed may still be frequent, see
    `zero_bound`.
    """
    if len(differences) < 2:  # noqa: PLR2004 - one task says nothing of how tasks differ
        return None
    if max(differences) - min(differences) <= EQUAL:
        middle, bound = differences[0], zero_bound(len(differences))
        return Interval(max(middle - bound, -1.0), min(middle + bound, 1.0))
    result = stats.bootstrap(
        (np.asarray(differences, dtype=np.float64),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    )
    low, high = result.confidence_interval
    return Interval(float(low), float(high))


def zero_bound(tasks: int) -> float:
    """Return the rate up to which never having seen it in so many tasks is no surprise.

    One-sided, with 95 %: the tasks count, however many episodes each had.
    """
    return 1.0 - math.pow(0.05, 1.0 / tasks)
