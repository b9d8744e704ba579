"""Transcripts of models as files: written while a run goes on, and played again."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from retry_guard_console._outputs import told
from retry_guard_console._play import Progress, Stop
from retry_guard_console._shared import shown, why
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from retry_guard_sandbox import Row, models


class Nowhere:
    """Where no transcript is wanted."""

    def write(self, line: str) -> None:
        """Keep nothing."""


@dataclass(slots=True)
class Record(Nowhere):
    """A transcript that is being written: whatever happens, finished episodes are in it."""

    path: Path
    file: TextIO

    def write(self, line: str) -> None:
        """Write a line; raises `OutputError`."""
        with told("record", self.path):
            self.file.write(line)
            self.file.flush()


class Replay:
    """A run that asks nobody."""

    def __init__(self, path: Path) -> None:
        """Read its first line. Raises `GuardError`."""
        from retry_guard_sandbox import models

        with told("replay", path):
            self._file = path.open(encoding="utf-8")
        self._run, self._path = models.Run(), path
        with self._said():
            try:
                self._transcript = models.read_transcript(self._file)
            except BaseException:
                self._file.close()
                raise
        self.total, self.meter = self._transcript.total, self._run.meter

    def opened(self) -> "AbstractContextManager[object]":
        """Close the file in the end."""
        return self._file

    def rows(self, progress: Progress, stop: Stop) -> Iterator["Row"]:
        """Yield the rows; raises `GuardError` for a line that does not fit, `CutShortError`."""
        with self._said():
            yield from self._run.replayed(self._transcript, progress=progress, stop=stop)

    def remarks(self) -> Iterable[str]:
        """Say what endpoints had done."""
        return troubles_of(self._run)

    @contextmanager
    def _said(self) -> Generator[None]:
        """Say which file it is whose content is wrong."""
        from retry_guard_sandbox import models

        try:
            yield
        except models.TranscriptError as error:
            raise GuardError(f"--replay {self._path}: {error}") from error
        except UnicodeDecodeError as error:
            raise GuardError(f"--replay {self._path}: {why(error)}; name another file") from error


def troubles_of(run: "models.Run") -> Iterator[str]:
    """Say what endpoints did, in lines."""
    for said, episodes in run.troubles.items():
        yield f"{episodes} episodes ended in an error: {shown(said)}"
