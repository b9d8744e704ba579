"""Processes like those of `Popen` that need not import anything, which is most of a short life."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import IO

FORKS = str(Path(__file__).with_name("forks.py"))
ASKING = threading.Lock()


@cache
def forks(module: str) -> socket.socket:
    """Start the process that has imported that module; it ends with this one."""
    ours, theirs = socket.socketpair()
    command = (sys.executable, FORKS, module)
    # Its own output is a pipe because that of those that it forks is one: Python asks once.
    process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.PIPE)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


def has_more(source: socket.socket | IO[bytes], timeout: float) -> bool:
    """Whether there is something to read, or an end, within that time; for any descriptor.

    A worker of the suite may have more of them open than `select` takes.
    """
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return poll.poll(1000 * timeout) != []


class Forked:
    """A process that runs `main` of a module, with pipes."""

    def __init__(self, module: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
        given, self._told = socket.socketpair()
        (stdin, into), (out, stdout), (errors, stderr) = (os.pipe() for _ in range(3))
        request = {"words": [*words], "folder": str(Path.cwd()), "environment": {**environment}}
        line, theirs = json.dumps(request).encode() + b"\n", (stdin, stdout, stderr, given.detach())
        with ASKING:
            asked = forks(module)
            sent = socket.send_fds(asked, [line], theirs)
            asked.sendall(line[sent:])
        for each in theirs:
            os.close(each)
        self.stdin, self.stdout = os.fdopen(into, "wb"), os.fdopen(out, "rb")
        self.stderr = os.fdopen(errors, "rb")
        self._lines = self._told.makefile("rb", buffering=0)
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or nothing as long as it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float) -> int:
        """Return the exit code, once it has ended. Raises `TimeoutExpired`."""
        if self.returncode is None:
            if not has_more(self._told, timeout):
                raise subprocess.TimeoutExpired("a forked process", timeout)
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._told.close()
        return self.returncode

    def end(self, timeout: float) -> tuple[int, str]:
        """Close its input and wait; return the exit code and what it wrote, a pipe full at most."""
        self.stdin.close()
        try:
            code = self.wait(timeout)
        finally:
            self.kill()
        with self.stdout, self.stderr:
            return code, self.stdout.read().decode()

    def whole(self, timeout: float) -> "subprocess.CompletedProcess[str]":
        """Close its input and wait; return the exit code and all that it wrote."""
        self.stdin.close()
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as pool:
            out, errors = (pool.submit(pipe.read) for pipe in (self.stdout, self.stderr))
            try:
                code = self.wait(timeout)
            finally:
                self.kill()
            said, noted = out.result().decode(), errors.result().decode()
        return subprocess.CompletedProcess((), code, said, noted)

    def send_signal(self, number: int) -> None:
        """Send a signal; none, where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
