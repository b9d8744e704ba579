"""Several callers on one virtual clock, such as two processes that call at the same time.

Each runs in a thread of its own, but only one at a time, and only until it waits: then the next
one goes on. Who that is follows from virtual time and the order of the tasks, so a run is equal
to every other run of the same tasks.
"""

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from math import inf
from operator import attrgetter
from typing import TypeVar

from retry_guard_sandbox.world._clock import Stop, VirtualClock

_Result = TypeVar("_Result")


def run_together(clock: VirtualClock, tasks: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """Run all tasks to their ends; return their results, in the order of the tasks.

    They start at once, in their order. A task goes on until it waits, by `sleep` or `advance`.
    While all of them wait, what is due happens, until one may go on: whose `stop` holds at once,
    else whose time has come first; among equals the one that has waited longest. `stop` is looked
    at after each event and each time that another task went on; it must not wait itself.

    What a task raises ends that task alone. Once all have ended, what the first of them raised is
    raised. Raises `RuntimeError` inside of another `run_together` on the same clock.
    """
    if clock.waits is not None:
        raise RuntimeError("these tasks run together already: add to them, do not nest")
    results: dict[int, _Result] = {}

    def play(number: int) -> None:
        results[number] = tasks[number]()

    runs = [_Run(play, number) for number in range(len(tasks))]
    _Baton(clock, runs).pass_on()
    for run in runs:
        if run.error is not None:
            raise run.error
    return [results[number] for number in range(len(tasks))]


class _Stopped(BaseException):
    """Ends a task that will not go on any more."""


class _Run:
    """A task on its way, and what it waits for: a time, and perhaps a condition."""

    def __init__(self, play: Callable[[int], None], number: int) -> None:
        self._play, self._number = play, number
        self.until = -inf
        self.stop: Stop | None = None
        self.turn = threading.Semaphore(0)
        self.error: BaseException | None = None

    def play(self) -> None:
        try:
            self._play(self._number)
        except BaseException as error:  # noqa: BLE001 - `run_together` raises it again
            self.error = error

    def stops(self) -> bool:
        return self.stop is not None and self.stop()


class _Baton:
    """Whose turn it is. The thread of `run_together` hands it out and gets it back each time."""

    def __init__(self, clock: VirtualClock, runs: Sequence[_Run]) -> None:
        self._clock, self._waiting = clock, list(runs)
        self._threads: dict[_Run, threading.Thread] = {}
        self._running: _Run | None = None
        self._back = threading.Semaphore(0)
        self._is_over = False

    def pass_on(self) -> None:
        """Let one after the other go on, until all have ended."""
        for run in self._waiting:
            start = partial(copy_context().run, self._play, run)
            self._threads[run] = threading.Thread(target=start, daemon=True)
            self._threads[run].start()
        self._clock.waits = self._wait
        try:
            while self._waiting:
                self._running = self._next()
                self._waiting.remove(self._running)
                self._running.turn.release()
                self._back.acquire()
        finally:
            self._stop()

    def _stop(self) -> None:
        """End what still runs, which there is only where this thread was interrupted."""
        self._is_over = True
        for run, thread in self._threads.items():
            run.turn.release()
            thread.join()
        self._clock.waits = None

    def _play(self, run: _Run) -> None:
        run.turn.acquire()
        if not self._is_over:
            run.play()
        self._back.release()

    def _wait(self, until: float, stop: Stop | None) -> None:
        """Wait as a task does: hand the baton back, and stand until it is one's turn again."""
        run = self._running
        if self._is_over:
            raise _Stopped
        if run is None or threading.current_thread() is not self._threads[run]:
            raise RuntimeError("only the tasks may wait here, not what they started")
        run.until, run.stop = until, stop
        self._waiting.append(run)
        self._back.release()
        run.turn.acquire()
        if self._is_over:
            raise _Stopped

    def _next(self) -> _Run:
        """Let happen what is due until one may go on; those that wait are in order."""
        earliest = min(self._waiting, key=attrgetter("until"))
        if self._stopping() is None:
            self._clock.pass_time(earliest.until, lambda: self._stopping() is not None)
        return self._stopping() or earliest

    def _stopping(self) -> _Run | None:
        return next((run for run in self._waiting if run.stops()), None)
