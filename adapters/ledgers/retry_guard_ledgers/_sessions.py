"""Connections to a SQLite ledger: one for each thread of each process."""

import ctypes
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, TypeVarTuple

from retry_guard_ledgers._failures import failure
from retry_guard_ledgers._files import address, exists, identity, verify
from retry_guard_ledgers._protocol import LedgerError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Level = Literal["full", "normal"]
"""`full`: a commit is durable on return. `normal`: with the next one that is `full`."""

CACHE = -32768  # KiB: the indexes of some hundred thousand records
CHECKPOINT = 4000  # pages: each checkpoint costs syncs, so one in some hundred calls


@dataclass(frozen=True, slots=True)
class Options:
    """How to connect. `busy`: seconds to wait for a lock. `level`: the best that commits get.

    `vfs`: which of SQLite's file systems to use. `journal`: `wal`, or `delete` without one.
    """

    busy: float = 8.0
    level: Level = "full"
    vfs: str | None = None
    journal: str = "wal"


class Session:
    """One connection, of one thread. A process that was forked off never touches it."""

    def __init__(self, path: Path, options: Options) -> None:
        """Connect. Raises `LedgerError` for anything but a ledger that this version knows."""
        self.process, self.lock = os.getpid(), threading.Lock()
        self._level = ""
        self.connection = sqlite3.connect(
            address(path, options.vfs),
            uri=True,
            timeout=options.busy,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            verify(self.connection, path)
            self.journal = _journal(self.connection, options.journal)
            self.connection.execute(f"PRAGMA cache_size = {CACHE}")
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
        except BaseException:
            self.connection.close()
            raise

    def sync(self, level: Level) -> None:
        """Set what commits get from now on; without a write-ahead log it is always `full`."""
        if self._level != level:
            self._level = ""  # not known, should an interrupt come in between
            used = level if self.journal == "wal" else "full"
            self.connection.execute(f"PRAGMA synchronous = {used}")
            self._level = level

    def close(self, process: Callable[[], int] = os.getpid) -> None:
        """Close the connection; where it is the parent process's, keep it open for good."""
        connection = getattr(self, "connection", None)
        if connection is None:
            return
        if self.process == process():
            connection.close()
        else:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def __del__(self) -> None:
        self.close()


def _journal_of(db: sqlite3.Connection) -> str:
    mode: str = db.execute("PRAGMA journal_mode").fetchone()[0]
    return mode


def _journal(db: sqlite3.Connection, wanted: str) -> str:
    """Return the journal in use, after an attempt at the wanted one where it is another."""
    mode = _journal_of(db)
    if mode != wanted:
        mode = db.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0]
    return mode


class Sessions:
    """Hands every thread its connection, and turns what SQLite reports into `LedgerError`."""

    def __init__(self, path: Path, options: Options) -> None:
        """Connect once, so that a ledger that cannot be used is refused here."""
        self.path, self.options = path, options
        self._name = os.fspath(path)
        self._durable = options.level == "full"
        self._closed = False
        self._local = threading.local()
        self._of_this_process()
        self._file = identity(self._name) if exists(path) else None
        self.journal: str = self.run("normal", _journal_of)

    def _of_this_process(self) -> None:
        """Start without connections: those of a parent process are none of ours."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._all: weakref.WeakSet[Session] = weakref.WeakSet()

    def run(self, level: Level, work: Callable[[sqlite3.Connection, *Ts], T], *given: *Ts) -> T:
        """Let `work` use this thread's connection, with commits of that level."""
        try:
            session = self._session()
            with session.lock:
                session.sync(level if self._durable else "normal")
                return work(session.connection, *given)
        except sqlite3.Error as error:
            raise failure(self.path, error) from error
        except (OverflowError, UnicodeEncodeError) as error:
            raise LedgerError(f"the ledger {self.path} cannot keep a value: {error}") from error

    def _session(self) -> Session:
        if self._closed:
            raise LedgerError(f"the ledger {self.path} was closed: open it again")
        if identity(self._name) != self._file or self._file is None:
            raise LedgerError(
                f"the ledger {self.path} was removed or replaced while in use: restore the file "
                "that was there, or start this program again; nothing was recorded"
            )
        session: Session | None = getattr(self._local, "session", None)
        if session is None or session.process != os.getpid():
            session = self._local.session = self._connect()
        return session

    def _connect(self) -> Session:
        if self._process != os.getpid():
            self._of_this_process()
        session = Session(self.path, self.options)
        with self._lock:
            self._all.add(session)
        return session

    def close(self) -> None:
        """Close every connection of this process. Closing twice does nothing."""
        self._closed = True
        if self._process != os.getpid():
            return
        with self._lock:
            for session in list(self._all):
                with session.lock:
                    session.close()
