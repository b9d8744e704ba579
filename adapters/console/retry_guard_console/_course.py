"""One long run of the sandbox: its progress, what stopped it, and what it took."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from retry_guard_console._interrupts import Interrupt

if TYPE_CHECKING:
    from retry_guard_console._play import Play
    from retry_guard_sandbox import Meter, Row


@dataclass(slots=True)
class Course:
    """One run, with a progress bar where a person looks on. `lost`: why it could not go on."""

    play: "Play"
    interrupt: Interrupt
    lost: str = ""

    def rows(self) -> Iterator["Row"]:
        """Yield the rows of what is finished, to the end or as far as it goes."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        from retry_guard_sandbox import CutShortError

        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), "episodes", TimeRemainingColumn())
        off = not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=off) as bar:
            advance = partial(bar.advance, bar.add_task("", total=self.play.total))
            try:
                yield from self.play.rows(advance, lambda: self.interrupt.came)
            except CutShortError as error:
                self.lost = str(error)

    def note(self) -> str:
        """Say that it is incomplete, and why; empty: it is complete."""
        done, total = self.play.meter.episodes, self.play.total
        if done == total:
            return ""
        return f"INCOMPLETE ({self.lost or 'interrupted'}): {done:,} of {total:,} episodes."


def took(meter: "Meter", jobs: int) -> str:
    """Say how long it took, and how much memory."""
    rate = meter.episodes / meter.seconds if meter.seconds else 0.0
    memory = f"{meter.memory / 1e6:,.0f} MB" if meter.memory else "not known"
    return (
        f"{meter.episodes:,} episodes in {meter.seconds:.1f} s: {rate:,.0f} per second, "
        f"--jobs {jobs}; peak memory {memory} ({len(meter.peaks)} processes)"
    )
