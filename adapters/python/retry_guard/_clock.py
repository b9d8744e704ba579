"""Time, as a driver needs it: to read, to sleep, and whether it is real."""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Protocol

from retry_guard_core import Now
from retry_guard_ledgers import Ledger

TICK = 0.001
"""Seconds added to each wait, so that no rounding error ends it a moment too early."""


class Clock(Protocol):
    """What a sandbox replaces to run calls on a virtual clock.

    With a clock of its own a guard keeps no heartbeat: nothing happens while nobody steps it.
    """

    def now(self) -> Now:
        """Return the time, in seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        ...


@dataclass(frozen=True, slots=True)
class LedgerClock:
    """The ledger's time, and real sleep, up to a tenth longer so that callers do not march."""

    ledger: Ledger

    def now(self) -> Now:
        """Return the ledger's time."""
        return self.ledger.now()

    def sleep(self, seconds: float) -> None:
        """Sleep in this thread."""
        time.sleep(_jittered(seconds))

    async def sleep_async(self, seconds: float) -> None:
        """Sleep in this task."""
        await asyncio.sleep(_jittered(seconds))


def _jittered(seconds: float) -> float:
    return seconds * (1 + random.random() / 10)  # noqa: S311 - no secret
