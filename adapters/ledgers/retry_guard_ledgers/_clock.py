"""The ledger's time: bounded by a clock that never jumps, and by the calendar's.

The steady clock is the time since boot, suspension included, plus an anchor: what the calendar
showed when the ledger was first used in this boot. The anchor is kept in the ledger, so every
process reads the same steady time. Where the system has no such clock, each process has an anchor
of its own.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from retry_guard_core import Now, Record
from retry_guard_ledgers._copies import changed

DRIFT = 1.0
"""Seconds by which the clocks may differ before a new anchor is due."""
FAR = 86_400.0
"""Seconds ahead of the calendar beyond which what is recorded came from a wrong calendar."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Two raw clocks, in seconds. `boot`: names what `steady` counts from; empty: this process."""

    steady: Callable[[], float]
    wall: Callable[[], float]
    boot: str = ""


def machine_clocks() -> Clocks:
    """Return this machine's clocks: on Linux since boot, elsewhere since some moment."""
    counts_suspension = getattr(time, "CLOCK_BOOTTIME", None)
    boot = boot_of(os.getpid())
    if counts_suspension is None or not boot:
        return Clocks(time.monotonic, time.time)
    return Clocks(partial(time.clock_gettime, counts_suspension), time.time, boot)


@lru_cache(maxsize=1)
def boot_of(_process: int) -> str:
    """Name this boot, and the namespace that may shift its clocks; empty: it has no name.

    Both stay as long as the process does; one that it forks may have another namespace.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        space = Path("/proc/self/ns/time")
        return f"{boot} {space.readlink()}" if space.is_symlink() else boot
    except OSError:
        return ""


class Timekeeper:
    """Reads both clocks against an anchor. Never fails and never touches a file."""

    def __init__(self, clocks: Clocks) -> None:
        """Anchor the steady clock to the calendar as it is now."""
        self.clocks = clocks
        self.name = f"anchor {clocks.boot}"
        self.anchor = clocks.wall() - clocks.steady()

    def now(self) -> Now:
        """Return the present moment, as bounded by the two clocks."""
        clocks = self.clocks
        steady, wall = self.anchor + clocks.steady(), clocks.wall()
        return Now(steady, wall) if steady < wall else Now(wall, steady)

    def drift(self, anchor: float) -> float:
        """Return by how many seconds the steady clock so anchored differs from the calendar."""
        return abs(anchor + self.clocks.steady() - self.clocks.wall())

    def is_ahead(self) -> bool:
        """Whether the calendar was set back behind the steady clock."""
        return self.anchor + self.clocks.steady() - self.clocks.wall() > DRIFT

    def judging(self, now: Now) -> Now:
        """Return `now`, but as early as it still can be by the anchor of this moment.

        By this the end of a lease is judged: whoever read `now` may not have known the anchor by
        which the lease was made. A time further off than `FAR` is of the caller's own clock (a
        sandbox's, say), and stands.
        """
        here = self.now().earliest
        earliest = min(now.earliest, here) if abs(now.earliest - here) <= FAR else now.earliest
        return Now(earliest, now.latest)

    def own_anchor(self, *, is_any_open: bool) -> float:
        """Return this process's anchor: a later one if it lags while nothing depends on it.

        It never goes back, since other processes have anchors of their own.
        """
        kept = is_any_open or self.drift(self.anchor) <= DRIFT
        return self.anchor if kept else max(self.anchor, self.fresh_anchor())

    def fresh_anchor(self, after: float = 0.0) -> float:
        """Return an anchor by which it is now what the calendar shows, but not before `after`."""
        return max(self.clocks.wall(), after) - self.clocks.steady()

    def believable(self) -> float:
        """Return the latest time that, once recorded, holds the time up; see `FAR`."""
        return self.clocks.wall() + FAR


def lengthened(record: Record, read: Now, now: Now) -> Record:
    """Return a record that was stamped at `read` with its lease as long from `now` on."""
    return changed(record, lease=record.lease + max(now.latest - read.latest, 0.0))
