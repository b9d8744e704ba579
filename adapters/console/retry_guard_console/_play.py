"""What `ab` plays: scripted agents, real models, or a transcript of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from retry_guard_sandbox import Meter, Row, Spec

Progress = Callable[[int], None]
Stop = Callable[[], bool]


class Play(Protocol):
    """What a run plays: `total` episodes, whose rows come in their order."""

    total: int
    meter: "Meter"

    def rows(self, progress: Progress, stop: Stop) -> Iterator["Row"]:
        """Yield the rows; raises `CutShortError` where it ends before the last episode."""
        ...

    def opened(self) -> "AbstractContextManager[object]":
        """Open what it needs."""
        ...

    def remarks(self) -> Iterable[str]:
        """Return what else there is to say afterwards, in lines."""
        ...


class Scripts:
    """A run of scripted agents alone."""

    def __init__(self, specs: Sequence["Spec"], jobs: int) -> None:
        """Run them in so many processes."""
        from retry_guard_sandbox import Meter

        self._specs, self._jobs = specs, jobs
        self.total, self.meter = len(specs), Meter()

    def opened(self) -> "AbstractContextManager[object]":
        """Open nothing."""
        return nullcontext()

    def rows(self, progress: Progress, stop: Stop) -> Iterator["Row"]:
        """Yield the rows; raises `CutShortError` where a process is lost."""
        from retry_guard_sandbox import run_all

        play = partial(run_all, self._specs, jobs=self._jobs, meter=self.meter)
        return play(progress=progress, stop=stop)

    def remarks(self) -> Iterable[str]:
        """Nothing."""
        return ()
