"""How late a request is, or its second copy, in seconds after its send.

The heavy tail is a Pareto distribution that is cut off, as queues and stuck connections have
them: most requests are late by minutes, some by hours. Its shape is chosen so that 16 % arrive
more than an hour after the client's time-out. Whoever takes an hour for long enough is then right
in 84 % of all cases, which is what the study found (arXiv:2609.29095; the shape is our choice, as
the study's was its own). It ends at three quarters of the time for which services remember a
key, and wherever a service states how long a request can be under way, before that.
"""

from math import inf
from typing import assert_never

from retry_guard_sandbox.world._faults import Delay

LATE = (11.0, 45.0)
"""When a late request arrives: after the client's time-out."""
AGAIN = (1.0, 9.0)
"""When a second copy arrives: while the client still waits. One that came after a look had shown
the first could be found out by nobody."""
TAIL = (11.0, 64_800.0)
"""When a very late request arrives: between these, and mostly early."""
TAIL_SHAPE = 0.21
"""The exponent of the Pareto distribution."""
SPARE = 0.5
"""How long before a stated bound the last request arrives, so that it also ends before it."""


def late(share: float, delay: Delay, bound: float | None) -> float:
    """Return when a late request arrives: the quantile at `share`, which is at least 0, below 1.

    `bound`: how long after its send a request to this tool may still have an effect, if stated.
    """
    cap = inf if bound is None else bound - SPARE
    match delay:
        case "short":
            low, high = LATE
            return low + (min(high, cap) - low) * share
        case "heavy_tail":
            return heavy_tail(share, min(TAIL[1], cap))
        case _:
            assert_never(delay)


def heavy_tail(share: float, high: float = TAIL[1]) -> float:
    """Return the quantile at `share` of the Pareto distribution that is cut off at `high`."""
    low = TAIL[0]
    beyond = (low / high) ** TAIL_SHAPE
    return float(low * (1.0 - share * (1.0 - beyond)) ** (-1.0 / TAIL_SHAPE))


def again(share: float) -> float:
    """Return when a second copy arrives: the quantile at `share`."""
    low, high = AGAIN
    return low + (high - low) * share
