"""One process for each episode, which can be killed with what it started.

What began a session or a process group of its own is out of reach.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Visit:
    """What a process is told. `folder` is its own; `shown`: its output goes to standard error.

    `address`, `token`: where its episode is served.
    """

    address: str
    token: str
    prompt: str
    folder: Path
    shown: bool = False

    @property
    def log(self) -> Path:
        """Where its output goes otherwise."""
        return self.folder / "output.txt"

    @property
    def raised(self) -> Path:
        """Where a function's process writes what was raised: its class, then the message."""
        return self.folder / "raised.txt"

    @property
    def returned(self) -> Path:
        """What a function's process makes once the function has returned."""
        return self.folder / "returned"


class Running(Protocol):
    """A process on its way."""

    def wait(self, seconds: float) -> int | None:
        """Return its exit code; None where it still runs after so many seconds."""
        ...

    def kill(self) -> None:
        """Have it end, and its group of processes, at once."""
        ...


Launch = Callable[[Visit], Running]


class Program:
    """A command as a process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Watch over it."""
        self._process = process

    def wait(self, seconds: float) -> int | None:
        """Return its exit code; None where it still runs after so many seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """Have it end, and its group of processes, at once."""
        end_group(self._process.pid)
        self._process.kill()


def command(argv: Sequence[str], configure: Callable[[Visit], dict[str, str]]) -> Launch:
    """Return what starts that command; `configure` returns what to add to its environment."""

    def launch(visit: Visit) -> Running:
        asked = visit.folder / "prompt.txt"
        asked.write_text(visit.prompt, encoding="utf-8")
        with asked.open("rb") as prompt, visit.log.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - it is what the user wants to run
                argv,
                stdin=prompt,
                stdout=2 if visit.shown else log,
                stderr=2 if visit.shown else log,
                env={**os.environ, **configure(visit)},
                start_new_session=True,
            )
        return Program(process)

    return launch


def end_group(leader: int) -> None:
    """End the group of processes that this one leads, if it leads one."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
