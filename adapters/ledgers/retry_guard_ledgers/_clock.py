"""The ledger's time: bounded by a clock that never jumps, and by the calendar's.

The steady clock is the time since boot, suspension included, plus an anchor: what the calendar
showed when the ledger was first used in this boot. The anchor is kept in the ledger, so every
process reads the same steady time. Where the system has no such clock, each process has an anchor
of its own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from retry_guard_core import Now

DRIFT = 1.0
"""Seconds by which the clocks may differ before a new anchor is due."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Two raw clocks, in seconds. `boot`: names what `steady` counts from; empty: this process."""

    steady: Callable[[], float]
    wall: Callable[[], float]
    boot: str = ""


def machine_clocks() -> Clocks:
    """Return this machine's clocks: on Linux since boot, elsewhere since some moment."""
    counts_suspension = getattr(time, "CLOCK_BOOTTIME", None)
    boot = _boot()
    if counts_suspension is None or not boot:
        return Clocks(time.monotonic, time.time)
    return Clocks(lambda: time.clock_gettime(counts_suspension), time.time, boot)


def _boot() -> str:
    """Name this boot, and the namespace that may shift its clocks; empty: it has no name."""
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
        self.anchor = clocks.wall() - clocks.steady()

    def now(self) -> Now:
        """Return the present moment, as bounded by the two clocks."""
        steady, wall = self.anchor + self.clocks.steady(), self.clocks.wall()
        return Now(steady, wall) if steady < wall else Now(wall, steady)

    def drift(self, anchor: float) -> float:
        """Return by how many seconds the steady clock so anchored differs from the calendar."""
        return abs(anchor + self.clocks.steady() - self.clocks.wall())

    def own_anchor(self, *, is_any_open: bool) -> float:
        """Return this process's anchor: another one if it drifted while nothing depends on it."""
        kept = is_any_open or self.drift(self.anchor) <= DRIFT
        return self.anchor if kept else self.fresh_anchor()

    def fresh_anchor(self, after: float = 0.0) -> float:
        """Return an anchor by which it is now what the calendar shows, but not before `after`."""
        return max(self.clocks.wall(), after) - self.clocks.steady()
