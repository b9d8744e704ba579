"""Running episodes, in one process or several: the same rows in the same order."""

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import forkserver, get_all_start_methods, get_context
from multiprocessing.context import BaseContext
from os import getpid
from pickle import dumps, loads
from time import perf_counter

from retry_guard import GuardError
from retry_guard_sandbox._episode import Spec, run
from retry_guard_sandbox._memory import peak_memory
from retry_guard_sandbox.grading._rows import Row

BATCH = 64
"""Episodes that are handed to a process at a time, at most."""
AHEAD = 4
"""Batches for each process that are under way or wait for it."""


class CutShortError(GuardError):
    """A run ended before its last episode. The message says why."""


class WorkerError(CutShortError):
    """A process that ran episodes is gone. The message says what to try."""


@dataclass(slots=True)
class Meter:
    """What a run took: `seconds` by a steady clock, `peaks` in bytes of memory by process."""

    episodes: int = 0
    peaks: dict[int, int] = field(default_factory=dict)
    _began: float = field(default_factory=perf_counter)
    _ended: float = 0.0

    @property
    def seconds(self) -> float:
        """From the beginning to the last batch."""
        return self._ended - self._began

    @property
    def memory(self) -> int:
        """The peaks of all processes together, in bytes; 0: this system does not tell."""
        return sum(self.peaks.values())

    def note(self, process: int, peak: int, episodes: int) -> None:
        """Count a batch that has ended."""
        self.episodes += episodes
        self.peaks[process] = max(peak, self.peaks.get(process, 0))
        self._ended = perf_counter()


def _go_on() -> bool:
    return False


def _tell_nobody(_episodes: int) -> None:
    pass


def run_all(
    specs: Sequence[Spec],
    *,
    jobs: int = 1,
    progress: Callable[[int], None] = _tell_nobody,
    stop: Callable[[], bool] = _go_on,
    meter: Meter | None = None,
) -> Iterator[Row]:
    """Yield the rows of all episodes, in the order of the specs, whatever `jobs` is.

    `progress` is told how many episodes have ended since it was told last. Once `stop` holds,
    no further batch begins, and the rows of those that did are the last. Raises `WorkerError`
    where a process was killed; the rows before are all there.
    """
    size = max(1, min(BATCH, -(-len(specs) // (jobs * AHEAD))))
    batches = (specs[start : start + size] for start in range(0, len(specs), size))
    meter = Meter() if meter is None else meter
    results = _in_processes(batches, jobs, stop) if jobs > 1 else _here(batches, stop)
    for batch in results:
        meter.note(batch.process, batch.peak, batch.episodes)
        meter.note(getpid(), peak_memory(), 0)
        progress(batch.episodes)
        yield from batch.rows


@dataclass(frozen=True, slots=True)
class _Batch:
    episodes: int
    rows: list[Row]
    process: int
    peak: int


def _here(batches: Iterator[Sequence[Spec]], stop: Callable[[], bool]) -> Iterator[_Batch]:
    for batch in batches:
        if stop():
            return
        yield _run_batch(batch)


def _in_processes(
    batches: Iterator[Sequence[Spec]], jobs: int, stop: Callable[[], bool]
) -> Iterator[_Batch]:
    under_way: deque[Future[bytes]] = deque()
    with ProcessPoolExecutor(jobs, _context(), initializer=_leave_interrupts_to_the_caller) as pool:
        while True:
            while len(under_way) < jobs * AHEAD and not stop() and (batch := next(batches, None)):
                under_way.append(pool.submit(_run_packed, batch))
            if not under_way:
                return
            try:
                packed = under_way.popleft().result()
            except BrokenProcessPool as error:
                raise WorkerError(
                    "a process was killed: give it memory, or fewer --jobs"
                ) from error
            yield loads(packed)  # noqa: S301 - from our own processes


def _context() -> BaseContext:
    """Return how processes begin: not forked from here, since the caller may have threads."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])  # imported once, however many processes there are
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()  # and is not interrupted with the caller, while it imports
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    return context


def _leave_interrupts_to_the_caller() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_packed(specs: Sequence[Spec]) -> bytes:
    return dumps(_run_batch(specs))


def _run_batch(specs: Sequence[Spec]) -> _Batch:
    rows = [row for spec in specs for row in run(spec)]
    return _Batch(len(specs), rows, getpid(), peak_memory())
