"""A handle on the server of `faulty_server.py`, run as another process."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faulty_server

PROGRAM = Path(faulty_server.__file__)


class FaultyServer:
    """Its process, its files, and what it is told to do.

    The listening socket is ours and is inherited, so that a server that crashed comes back at
    the same address, and requests in between wait.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.crashes = 0
        self._plan: dict[str, list[str]] = {}
        self._write_plan()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._closing = False
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def plan(self, reference: str, *faults: str) -> None:
        """Set the faults of the first, second, … request that writes this reference.

        For its reads the reference is `GET reference`. Further requests are answered as asked.
        """
        self._plan[reference] = list(faults)
        self._write_plan()

    def effects(self, reference: str | None = None) -> list[dict[str, Any]]:
        """Return what really happened."""
        lines = self._lines("effects.jsonl")
        return [line for line in lines if reference in (None, line["body"].get("reference"))]

    def requests(self, reference: str, method: str = "POST") -> list[dict[str, Any]]:
        """Return the requests that arrived."""
        lines = self._lines("requests.jsonl")
        return [r for r in lines if (r["reference"], r["method"]) == (reference, method)]

    def release(self) -> None:
        """Let go on what is held, now and later."""
        (self.folder / "release").touch()

    def hold(self) -> None:
        """Hold again what is planned to be held."""
        (self.folder / "release").unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill the process; it is started again, at the same address."""
        self._process.kill()

    def close(self) -> None:
        """End it for good."""
        self._closing = True
        self._process.kill()
        self._keeper.join()
        self._listener.close()

    def _start(self) -> subprocess.Popen[bytes]:
        descriptor = self._listener.fileno()
        command = [sys.executable, str(PROGRAM), str(self.folder), str(descriptor)]
        return subprocess.Popen(command, pass_fds=[descriptor])

    def _keep(self) -> None:
        """Start it again whenever it has ended, until the end."""
        while True:
            self.crashes += self._process.wait() == faulty_server.CRASHED
            if self._closing:
                return
            self._process = self._start()
            if self._closing:
                self._process.kill()

    def _write_plan(self) -> None:
        part = self.folder / "plan.part"
        part.write_text(json.dumps(self._plan))
        part.replace(self.folder / "plan.json")

    def _lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@contextmanager
def faulty_server_in(folder: Path) -> Generator[FaultyServer]:
    """Run a server for as long as the block lasts."""
    server = FaultyServer(folder)
    try:
        yield server
    finally:
        server.release()
        server.close()


def until(fact: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a fact; fail if it does not come true."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            raise AssertionError("what was waited for did not come")
        time.sleep(0.005)
