"""Ctrl-C during a long run: the first ends it in good order, the second at once."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from types import FrameType

from retry_guard_console._shared import complain


@dataclass(slots=True)
class Interrupt:
    """Whether somebody wants the run to end."""

    came: bool = False

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """Note the first; raise `KeyboardInterrupt` for the second."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        complain(": interrupted: ending what is under way; once more to stop at once")


@contextmanager
def interruptible() -> Generator[Interrupt]:
    """Hold the first Ctrl-C back while this lasts."""
    interrupt = Interrupt()
    if current_thread() is not main_thread():  # only the main thread may set handlers
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
