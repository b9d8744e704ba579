"""One connection to a SQLite ledger."""

import ctypes
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from retry_guard_ledgers._files import address, verify

Level = Literal["full", "normal"]
"""`full`: a commit is durable on return. `normal`: with the next one that is `full`."""

CACHE = -32768  # KiB: the indexes of some hundred thousand records
CHECKPOINT = 4000  # pages: each checkpoint costs syncs, so one in some hundred calls


@dataclass(frozen=True, slots=True)
class Options:
    """How to connect. `busy`: seconds to wait for a lock. `level`: the best that commits get.

    `vfs`: which of SQLite's file systems to use. `journal`: `wal`, or `delete` without one.
    `checkpoint`: pages of the write-ahead log after which a commit tidies it up; 0: none does.
    """

    busy: float = 8.0
    level: Level = "full"
    vfs: str | None = None
    journal: str = "wal"
    checkpoint: int = CHECKPOINT


class Session:
    """One connection, of one thread. A process that was forked off never touches it.

    `sound`: whether the last work on it came to its end. `parted`: it was closed for a fork.
    """

    def __init__(self, path: Path, options: Options) -> None:
        """Connect. Raises `LedgerError` for anything but a ledger that this version knows."""
        self.process, self.lock = os.getpid(), threading.Lock()
        self._level, self.sound, self.parted = "", False, False
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
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {options.checkpoint}")
        except BaseException:
            self.connection.close()
            raise

    def begin(self, level: Level | None) -> None:
        """Make it ready for work with commits of that level; roll back what was left undone.

        None: it commits nothing, so the level stays as it is, since to change it takes a statement.
        An interrupt can leave a transaction open, and what is written in one is not committed.
        """
        if not self.sound and self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.sound = False
        if level is not None:
            self._sync(level)

    def _sync(self, level: Level) -> None:
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


def journal_of(db: sqlite3.Connection) -> str:
    """Return the journal in use."""
    mode: str = db.execute("PRAGMA journal_mode").fetchone()[0]
    return mode


def _journal(db: sqlite3.Connection, wanted: str) -> str:
    """Return the journal in use, after an attempt at the wanted one where it is another."""
    mode = journal_of(db)
    if mode != wanted:
        mode = db.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0]
    return mode
