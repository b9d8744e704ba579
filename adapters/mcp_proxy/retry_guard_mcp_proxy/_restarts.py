"""How often a server that ends is started again."""

import time
from collections import deque
from collections.abc import Callable

from retry_guard_mcp_proxy._errors import DownError

LIMIT, WINDOW = 5, 30.0
"""So many starts within so many seconds; then requests are refused until the oldest is past."""
FIRST_PAUSE = 0.1
"""Seconds before the second start in the window; each further one waits twice as long."""


class Restarts:
    """Counts starts. `how`: how the server ended the last time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has ended yet. `clock`: seconds, counted from anywhere."""
        self.how, self._clock = "", clock
        self._starts: deque[float] = deque(maxlen=LIMIT)

    def next(self) -> float:
        """Count one more start; return the seconds to wait before it. Raises `DownError`."""
        now = self._clock()
        while self._starts and now - self._starts[0] > WINDOW:
            self._starts.popleft()
        count = len(self._starts)
        if count == LIMIT:
            left = self._starts[0] + WINDOW - now
            raise DownError(
                f"the server ended {LIMIT} times within {WINDOW:.0f} s, at last with {self.how}; "
                f"it is started again on the first call after {left:.0f} s"
            )
        self._starts.append(now)
        return FIRST_PAUSE * 2 ** (count - 1) if count else 0.0
