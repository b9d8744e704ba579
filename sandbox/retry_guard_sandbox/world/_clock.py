"""Virtual time: what is due happens in order, and nobody waits for it."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from retry_guard_core import Now

START = 1_893_456_000.0
"""2030-01-01T00:00:00Z, in seconds since the epoch: when every episode begins."""


Stop = Callable[[], bool]
"""Whether what somebody waits for has come about."""


class VirtualClock:
    """A clock that jumps from one due event to the next. It fits `retry_guard.Guard(clock=)`.

    `waits`: what waiting is where several callers share the clock (`run_together` sets it); None
    where there is one, who waits by letting time pass.
    """

    __slots__ = ("_due", "_now", "_order", "_time", "waits")

    def __init__(self, start: float = START) -> None:
        """Begin at `start`, in seconds since the epoch."""
        self._time = start
        self._now = Now(start, start)
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self.waits: Callable[[float, Stop | None], None] | None = None

    @property
    def time(self) -> float:
        """The present moment, in seconds since the epoch."""
        return self._time

    def now(self) -> Now:
        """Return the present moment as the core takes it; nothing is uncertain about it."""
        if self._now.latest != self._time:
            self._now = Now(self._time, self._time)
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass; whatever falls due meanwhile happens."""
        self.advance(self._time + max(seconds, 0.0))

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Have `action` carried out at that time, or as soon as possible after it."""
        heappush(self._due, (when, next(self._order), action))

    def advance(self, until: float, stop: Stop | None = None) -> None:
        """Wait to `until`, or to the moment after an event at which `stop` holds."""
        if self.waits is None:
            self.pass_time(until, stop)
        else:
            self.waits(until, stop)

    def pass_time(self, until: float, stop: Stop | None = None) -> None:
        """Have happen what is due, to `until` or to the moment after it at which `stop` holds."""
        due = self._due
        while due and due[0][0] <= until:
            when, _, action = heappop(due)
            self._time = max(self._time, when)
            action()
            if stop is not None and stop():
                return
        self._time = max(self._time, until)

    def settle(self) -> None:
        """Let everything happen that is still due, whatever time that takes."""
        while self._due:
            self.advance(self._due[0][0])
