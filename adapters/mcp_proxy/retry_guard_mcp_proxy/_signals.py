"""Signals that end the proxy, from before it starts a server until it is gone."""

import signal
from contextlib import suppress
from types import FrameType

ENDING = tuple(
    number
    for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGINT", "SIGHUP"))
    if number is not None
)
"""Those that there are on this system."""


class Signals:
    """Holds signals back, so that none leaves a server behind. `came`: there was one."""

    def __init__(self) -> None:
        """Hold nothing back yet."""
        self.came = False

    def hold(self) -> None:
        """Note from now on what comes, and do nothing about it."""
        for number in ENDING:
            with suppress(ValueError):  # only the main thread may
                signal.signal(number, self._note)

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self.came = True
