"""Virtual time: what is due happens in order, and nobody waits for it."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from retry_guard_core import Now

START = 1_893_456_000.0
"""2030-01-01T00:00:00Z, in seconds since the epoch: when every episode begins."""


class Event:
    """Something that is due. Cancelling it after it happened changes nothing."""

    __slots__ = ("_action", "cancelled")

    def __init__(self, action: Callable[[], None]) -> None:
        """Keep the action."""
        self._action = action
        self.cancelled = False

    def happen(self) -> None:
        """Carry it out, unless it was cancelled."""
        if not self.cancelled:
            self._action()


class VirtualClock:
    """A clock that jumps from one due event to the next. It fits `retry_guard.Guard(clock=)`."""

    __slots__ = ("_due", "_order", "_time")

    def __init__(self, start: float = START) -> None:
        """Begin at `start`, in seconds since the epoch."""
        self._time = start
        self._order = count()
        self._due: list[tuple[float, int, Event]] = []

    @property
    def time(self) -> float:
        """The present moment, in seconds since the epoch."""
        return self._time

    def now(self) -> Now:
        """Return the present moment as the core takes it; nothing is uncertain about it."""
        return Now(self._time, self._time)

    def sleep(self, seconds: float) -> None:
        """Let time pass; whatever falls due meanwhile happens."""
        self.advance(self._time + max(seconds, 0.0))

    def at(self, when: float, action: Callable[[], None]) -> Event:
        """Have `action` carried out at that time, or as soon as possible after it."""
        event = Event(action)
        heappush(self._due, (when, next(self._order), event))
        return event

    def advance(self, until: float, stop: Callable[[], bool] | None = None) -> None:
        """Go on to `until`, or to the moment after an event at which `stop` holds."""
        while self._due and self._due[0][0] <= until:
            when, _, event = heappop(self._due)
            self._time = max(self._time, when)
            event.happen()
            if stop is not None and stop():
                return
        self._time = max(self._time, until)

    def settle(self) -> None:
        """Let everything happen that is still due, whatever time that takes."""
        while self._due:
            self.advance(self._due[0][0])
