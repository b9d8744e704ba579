"""Putting a scaffold through its episodes: each in a process, several at a time."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox.evaluation._running import Launch, Running, Visit
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.serving import Board, Said, Session
from retry_guard_sandbox.world._effects import Effect

TIMED_OUT = "TimedOut"
GIVE_UP = 5
"""Episodes in a row that do not end in time after which a run goes no further."""
_GLANCE = 0.1
"""Seconds between two looks at whether to stop."""
_REAPED = 5.0
"""Seconds in which the system takes a killed process away."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What became of one episode. `detail`: why it is an error, in words; empty if it is none.

    `said`: the calls and their answers. `effects`: what really happened, each with the virtual
    seconds since the episode began.
    """

    spec: Spec
    rows: tuple[Row, ...]
    detail: str
    said: tuple[Said, ...]
    effects: tuple[tuple[float, Effect], ...]

    @property
    def late_writes(self) -> tuple[str, ...]:
        """The tools that were called after `finish` to write, in order; each was refused."""
        return tuple(said.tool for said in self.said if said.is_late)


def ended(session: Session, error: str | None, detail: str) -> Episode:
    """End a session and return what became of it."""
    rows = tuple(session.end(error))
    if rows[0].outcome != "error":
        detail = ""
    elif not detail:
        detail = "it ended without a call of finish" if error is None else str(rows[0].error)
    return Episode(session.spec, rows, detail, tuple(session.said), tuple(session.effects))


def _go_on() -> bool:
    return False


class Episodes:
    """Runs episodes, `jobs` at a time. What still runs is killed where nobody wants it any more.

    `timeout`: seconds of real time for each. `shown`: the output of the processes is not kept
    from standard error.
    """

    def __init__(self, launch: Launch, *, jobs: int, timeout: float, shown: bool = False) -> None:
        """Start nothing yet."""
        self._launch, self._jobs, self._timeout, self._shown = launch, jobs, timeout, shown
        self._lock, self._running = Lock(), set[Running]()
        self._stopped = False

    def run(self, specs: Sequence[Spec], stop: Callable[[], bool] = _go_on) -> Iterator[Episode]:
        """Yield the episodes in the order of the specs, each as soon as it and all before ended.

        Once `stop` holds, what still runs is killed, and there are no more episodes. So it is
        after `GIVE_UP` episodes in a row that did not end in time: nothing else would be learned.
        """
        with (
            Board() as board,
            TemporaryDirectory(prefix="retry-guard-eval-", ignore_cleanup_errors=True) as folder,
            ThreadPoolExecutor(self._jobs) as pool,
        ):
            try:
                begun = [
                    pool.submit(self._one, board, spec, Path(folder, str(number)))
                    for number, spec in enumerate(specs)
                ]
                hung = 0
                for future in begun:
                    while not wait((future,), _GLANCE).done and not stop():
                        pass
                    if stop() or hung == GIVE_UP:
                        return
                    episode = future.result()
                    hung = hung + 1 if episode.rows[0].error == TIMED_OUT else 0
                    yield episode
            finally:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for running in self._running:
                running.kill()

    def _one(self, board: Board, spec: Spec, folder: Path) -> Episode:
        session = Session(spec)
        folder.mkdir()
        token = board.add(session)
        visit = Visit(board.address, token, session.prompt, folder, self._shown)
        try:
            error, detail = self._carried_out(visit)
        finally:
            board.drop(token)
        return ended(session, error, detail)

    def _carried_out(self, visit: Visit) -> tuple[str | None, str]:
        """Run a process to its end; return what is wrong, in one word and in a sentence."""
        began = time.monotonic()
        with self._lock:
            if self._stopped:
                return "Stopped", "the run was stopped"
            running = self._launch(visit)
            self._running.add(running)
        code = running.wait(max(self._timeout - (time.monotonic() - began), 0.0))
        running.kill()
        running.wait(_REAPED)
        with self._lock:
            self._running.discard(running)
        if code is None:
            return TIMED_OUT, f"it did not end within {self._timeout:g} s"
        return (None, "") if code == 0 else _crash(visit, code)


def _crash(visit: Visit, code: int) -> tuple[str, str]:
    if visit.raised.exists():
        name, _, message = visit.raised.read_text(encoding="utf-8").partition("\n")
        return name, f"{name}: {' '.join(message.split())}".rstrip(": ")
    ended_by = f"signal {-code}" if code < 0 else f"exit code {code}"
    return "Crashed", f"{ended_by}{_last_words(visit.log)}"


def _last_words(log: Path) -> str:
    """Return the last line that was written, to be put after something."""
    text = log.read_bytes()[-2000:].decode(errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""
