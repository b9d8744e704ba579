"""Runs of models: many episodes, live or from a transcript, with their rows in order."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from os import getpid
from queue import SimpleQueue
from threading import Event, Thread

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox._memory import peak_memory
from retry_guard_sandbox._running import CutShortError, Meter
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.models._play import Cast, Played, replay
from retry_guard_sandbox.models._transcript import Transcript, episode_line

AHEAD = 4
"""Episodes for each thread that are under way or wait for it."""
GIVE_UP = 5
"""Episodes in a row that an endpoint ended after which a run goes no further."""

Progress = Callable[[int], None]
Stop = Callable[[], bool]


def _keep_nothing(_line: str) -> None:
    pass


@dataclass(slots=True)
class Run:
    """What a run of models met. `troubles`: what endpoints did, in words, with episodes."""

    meter: Meter = field(default_factory=Meter)
    troubles: Counter[str] = field(default_factory=Counter)
    _in_a_row: int = 0

    def live(
        self,
        specs: Sequence[Spec],
        cast: Cast,
        *,
        jobs: int,
        progress: Progress,
        stop: Stop,
        record: Callable[[str], None] = _keep_nothing,
    ) -> Iterator[Row]:
        """Yield the rows of all episodes, in the order of the specs, `jobs` at a time.

        `record` is given the line of each finished episode. What is under way once `stop` holds
        or a cap is reached is dropped. Raises `CutShortError` for a cap, and after `GIVE_UP`
        episodes in a row that an endpoint ended; the rows before are all there.
        """
        why = ""
        for played in _in_threads(specs, cast, jobs, stop):
            if played.stopped:
                why = why or played.stopped
                continue
            record(episode_line(played.spec, played.exchanges))
            yield from self._rows(played, progress)
        if why and not stop():
            raise CutShortError(why)

    def replayed(self, transcript: Transcript, *, progress: Progress, stop: Stop) -> Iterator[Row]:
        """Yield the rows of a transcript's episodes; raises `TranscriptError`, `CutShortError`."""
        for recorded in transcript.episodes:
            if stop():
                return
            yield from self._rows(replay(recorded), progress)
        if self.meter.episodes < transcript.total:
            raise CutShortError("the transcript holds no more")

    def _rows(self, played: Played, progress: Progress) -> Iterator[Row]:
        self.meter.note(getpid(), peak_memory(), 1)
        progress(1)
        yield from played.rows
        if not played.trouble:
            self._in_a_row = 0
            return
        said = f"{played.spec.agent}: {played.trouble}"
        self.troubles[said] += 1
        self._in_a_row += 1
        if self._in_a_row == GIVE_UP:
            raise CutShortError(f"{GIVE_UP} episodes in a row ended so: {said}")


def _in_threads(specs: Sequence[Spec], cast: Cast, jobs: int, stop: Stop) -> Iterator[Played]:
    """Yield what was played, in order. Nothing new begins once an episode was broken off."""
    waiting, under_way, over = iter(specs), deque[_Task](), Event()
    tasks = SimpleQueue[_Task | None]()

    def ended() -> bool:
        return over.is_set() or stop()

    def work() -> None:
        while (task := tasks.get()) is not None:
            task.play(cast, ended)

    for _ in range(jobs):
        # A thread that keeps nobody from leaving: its answer may take long.
        Thread(target=work, daemon=True).start()
    try:
        while True:
            while len(under_way) < jobs * AHEAD and not ended() and (spec := next(waiting, None)):
                under_way.append(_Task(spec))
                tasks.put(under_way[-1])
            if not under_way:
                return
            played = under_way.popleft().future.result()
            if played.stopped:
                over.set()
            yield played
    finally:
        over.set()
        for _ in range(jobs):
            tasks.put(None)


@dataclass(frozen=True, slots=True)
class _Task:
    """An episode that is to be played, and what comes of it."""

    spec: Spec
    future: Future[Played] = field(default_factory=Future[Played])

    def play(self, cast: Cast, ended: Stop) -> None:
        """Play it; what is raised is raised again where the result is wanted."""
        try:
            self.future.set_result(cast.play(self.spec, ended))
        except BaseException as error:  # noqa: BLE001 - (as said)
            self.future.set_exception(error)
