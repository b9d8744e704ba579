"""How often a server that ends is started again."""

import time
from collections.abc import Callable
from typing import NamedTuple

from retry_guard_mcp_proxy._errors import DownError

LIMIT, WINDOW = 5, 30.0
"""So many starts within so many seconds; then requests are refused until one of them is past."""
FIRST_PAUSE = 0.1
"""Seconds before the second start in the window; each further one waits twice as long."""
LONGER = 2 * LIMIT
"""A start that came to nothing counts for so many times longer as that took."""


class _Start(NamedTuple):
    at: float
    until: float


class Restarts:
    """Counts starts. `how`: how the server ended the last time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has ended yet. `clock`: seconds, counted from anywhere."""
        self.how, self._clock = "", clock
        self._starts: list[_Start] = []

    def next(self) -> float:
        """Count one more start; return the seconds to wait before it. Raises `DownError`."""
        now = self._clock()
        self._starts = [start for start in self._starts if now <= start.until]
        count = len(self._starts)
        if count == LIMIT:
            left = min(start.until for start in self._starts) - now
            within = max(WINDOW, now - self._starts[0].at)
            raise DownError(
                f"the server ended {LIMIT} times within {within:.0f} s, at last with {self.how}; "
                f"it is started again on the first call after {left:.0f} s"
            )
        self._starts.append(_Start(now, now + WINDOW))
        return FIRST_PAUSE * 2 ** (count - 1) if count else 0.0

    def failed(self, how: str) -> None:
        """Note that what was started last came to nothing, and how.

        Else one that takes its time to fail would be started for ever.
        """
        self.how, (at, until) = how, self._starts[-1]
        self._starts[-1] = _Start(at, until + LONGER * (self._clock() - at))
