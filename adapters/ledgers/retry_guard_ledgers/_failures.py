"""What SQLite reports, said as one clear line."""

import os
import sqlite3
from pathlib import Path

from retry_guard_ledgers._protocol import LedgerError

_ADVICE = {
    sqlite3.SQLITE_BUSY: "is locked by another process for too long: find out which, or try later",
    sqlite3.SQLITE_LOCKED: "is locked by another connection: close it",
    sqlite3.SQLITE_READONLY: "cannot be written: give its owner the right to write it",
    sqlite3.SQLITE_PERM: "cannot be opened: give its owner the right to read and write it",
    sqlite3.SQLITE_AUTH: "cannot be opened: give its owner the right to read and write it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: its folder must exist and be writable, on a file "
    "system that has locks and shared memory",
    sqlite3.SQLITE_CORRUPT: "is damaged: stop, keep the file, restore a copy or recover it",
    sqlite3.SQLITE_NOTADB: "is no SQLite database: give another path, or restore a copy",
    sqlite3.SQLITE_FULL: "is full: make room on the disk",
    sqlite3.SQLITE_IOERR: "could not be read or written: look at the disk and its free space",
    sqlite3.SQLITE_NOLFS: "could not grow: look at the limits of the file system",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked here: move it to a local file system",
}


def failure(path: Path, error: Exception) -> LedgerError:
    """Return what to raise instead: it names the file, what is wrong, and what to do."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF
    is_there = kind == sqlite3.SQLITE_CANTOPEN and os.access(path, os.F_OK)
    if is_there and not os.access(path, os.R_OK | os.W_OK):
        kind = sqlite3.SQLITE_PERM
    advice = None if kind is None else _ADVICE.get(kind)
    return LedgerError(f"the ledger {path} {advice or 'refused the operation'} ({error})")
