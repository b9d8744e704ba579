"""No process uses a connection to a ledger, or a belief about its locks, that its parent had.

SQLite notes in the memory of a process which locks that holds. A copy of the process has the notes
and not one of the locks: it would lock nothing, and whoever then closed the last connection that is
left would remove the write-ahead log under it. So for the moment of a fork every connection is
closed, and whoever needs one connects anew, on both sides. Where one could not be closed in time,
or the process was copied behind Python's back, the copy is refused the file.
"""

import ctypes
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from retry_guard_ledgers._protocol import LedgerError

PATIENCE = 10.0
"""Seconds that a fork waits for what others do: longer than a ledger waits for another's lock."""
_NO_FILE: tuple[int, int] | None = None


def identity(path: str) -> tuple[int, int] | None:
    """Return which file stands at the path, whatever its name; None if none does."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Line:
    """A place for one connection. Whoever connects, works or closes holds `lock`.

    `user`: the thread that works, if any does. `process`: the one that it belongs to.
    """

    def __init__(self) -> None:
        """Have no connection yet. No process is forked off while one is made known."""
        self.lock, self.user, self.process = threading.Lock(), 0, os.getpid()
        self.is_open, self.file = False, _NO_FILE
        self.connection: sqlite3.Connection | None = None
        with _forking:
            _lines.add(self)

    def connect(self, path: Path, address: str, busy: float) -> sqlite3.Connection:
        """Connect. `address`: the file's, for SQLite. `LedgerError` where no lock would hold."""
        file = identity(os.fspath(path))
        if any(line.is_of_another_process(file) for line in list(_lines)):
            raise LedgerError(
                f"the ledger {path} was in use as this process was forked off, so none of its "
                "locks holds here: fork first, or start the process in another way; nothing was "
                "recorded"
            )
        self.file, self.is_open = file, True  # from now on a copy could be wrong about its locks
        self.connection = sqlite3.connect(
            address, uri=True, timeout=busy, isolation_level=None, check_same_thread=False
        )
        return self.connection

    def is_of_another_process(self, file: tuple[int, int] | None) -> bool:
        """Whether a process that this one is a copy of has that file open on it."""
        return self.is_open and self.file == file and self.process != os.getpid()

    def close(self, process: Callable[[], int] = os.getpid) -> None:
        """Close the connection, unless it is another process's."""
        if self.process == process():
            if self.connection is not None:
                self.connection.close()
            self.is_open = False

    def end(self, process: Callable[[], int] = os.getpid) -> None:
        """Close it where nobody needs it any more; if it is locked, a fork is closing it."""
        if self.lock.acquire(blocking=False):
            try:
                self.close(process)
            finally:
                self.lock.release()
        if not self.is_open or self.process == process():
            _lines.discard(self)

    def taken(self, until: float) -> bool:
        """Take the lock for a fork, in time; in the midst of this thread's own work it cannot."""
        if self.lock.acquire(blocking=False):
            return True
        mine = self.user == threading.get_ident()
        return not mine and self.lock.acquire(timeout=max(until - time.monotonic(), 0.0))

    def __del__(self, process: Callable[[], int] = os.getpid) -> None:
        if self.is_open and self.process != process():  # to close it would go by wrong notes
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))


@contextmanager
def connected(path: Path, address: str) -> Generator[sqlite3.Connection]:
    """Connect for the moment; see `Line.connect`."""
    line = Line()
    try:
        with line.lock:
            yield line.connect(path, address, 5.0)
    finally:
        line.end()


class Gate:
    """What work passes before it takes a lock. `shut`: a fork is to come, so let it first.

    Else a thread that works without a pause could always be before it.
    """

    shut = False

    def wait(self) -> None:
        """Return once it has come."""
        with _forking:
            pass  # the fork has come


gate = Gate()
_lines: set[Line] = set()
_quiet: weakref.WeakSet["QuietLock"] = weakref.WeakSet()
_forking = threading.RLock()  # a signal's handler may fork where this thread has it
_held: dict[int, list[threading.Lock]] = {}


class QuietLock:
    """A lock that no other thread holds in the moment of a fork."""

    def __init__(self) -> None:
        """Nobody holds it."""
        self.lock = threading.Lock()
        with _forking:
            _quiet.add(self)

    def __enter__(self) -> None:
        """Wait for it, and before that for a fork that is to come."""
        if gate.shut:
            gate.wait()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Let it go."""
        self.lock.release()


def _before() -> None:
    """Close every connection, and let nobody connect; what is in use for too long stays open."""
    until = time.monotonic() + PATIENCE
    if not _forking.acquire(timeout=PATIENCE):
        return
    held = _held[threading.get_ident()] = list[threading.Lock]()
    gate.shut = True
    for line in list(_lines):
        if line.taken(until):
            held.append(line.lock)
            line.close()
    for quiet in list(_quiet):
        if quiet.lock.acquire(timeout=max(until - time.monotonic(), 0.0)):
            held.append(quiet.lock)


def _after() -> None:
    held = _held.pop(threading.get_ident(), None)
    if held is not None:
        for lock in held:
            lock.release()
        gate.shut = False
        _forking.release()


def _after_in_child() -> None:
    """Let go; nobody waits for what is held for good by threads that are none of this process."""
    global _forking
    _after()
    gate.shut, _forking = False, threading.RLock()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
