"""One connection to a SQLite ledger."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from typing import Literal

from retry_guard_ledgers._files import address, verify
from retry_guard_ledgers._forks import Line
from retry_guard_ledgers._protocol import LedgerError

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

    A fork closes it; then the next work on it connects anew.
    `sound`: whether the last work on it came to its end.
    """

    def __init__(self, path: Path, options: Options) -> None:
        """Connect. Raises `LedgerError` for anything but a ledger that this version knows."""
        self._path, self._options = path, options
        self._file: tuple[int, int] | None = None
        self._level, self.sound, self._ended = "", False, False
        self.line = Line()
        self.process, self.lock = self.line.process, self.line.lock
        with self.lock:
            self._connect()

    def _connect(self) -> None:
        """Connect, with the lock held."""
        path, options = self._path, self._options
        try:
            db = self.connection = self.line.connect(path, address(path, options.vfs), options.busy)
            self._same(path)
            verify(db, path)
            self._level, self.journal = "", _journal(db, options.journal)
            db.execute(f"PRAGMA cache_size = {CACHE}")
            db.execute(f"PRAGMA wal_autocheckpoint = {options.checkpoint}")
        except BaseException:
            self.line.close()
            raise

    def _same(self, path: Path) -> None:
        """Refuse another file than the one that was connected to first."""
        self._file = self._file or self.line.file
        if self.line.file != self._file:
            raise LedgerError(
                f"the ledger {path} was replaced while a process was forked off: restore the file "
                "that was there, or start this program again; nothing was recorded"
            )

    def begin(self, level: Level | None) -> None:
        """Make it ready for work with commits of that level; roll back what was left undone.

        None: it commits nothing, so the level stays as it is, since to change it takes a statement.
        An interrupt can leave a transaction open, and what is written in one is not committed.
        """
        self.line.user = get_ident()
        if not self.line.is_open and not self._ended:
            self._connect()
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

    def close(self) -> None:
        """Close the connection for good, with the lock held, unless it is the parent process's."""
        self._ended = True
        self.line.close()

    def __del__(self) -> None:
        if hasattr(self, "line"):  # an interrupt may have come before
            self.line.end()


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
