"""What a look at a SQLite ledger tells its operator."""

import sqlite3
import stat
from pathlib import Path

from retry_guard_ledgers._anchors import is_any_open
from retry_guard_ledgers._clock import DRIFT, Timekeeper
from retry_guard_ledgers._protocol import LedgerError
from retry_guard_ledgers._rules import Finding
from retry_guard_ledgers._schema import VERSION
from retry_guard_ledgers._sessions import Sessions

_PROBE = "UPDATE meta SET value = value WHERE name = 'secret'"


def health(sessions: Sessions, keeper: Timekeeper) -> list[Finding]:
    """Return what was found: can it be written, is it whole, who can read it, is time agreed."""
    return [
        _writable(sessions),
        _whole(sessions),
        Finding("schema", well=True, text=f"version {VERSION}"),
        Finding("journal", well=sessions.journal == "wal", text=sessions.journal),
        _modes(sessions.path),
        _clocks(sessions, keeper),
    ]


def _writable(sessions: Sessions) -> Finding:
    """Commit a durable write that changes nothing."""
    try:
        sessions.run("full", _probe)
    except LedgerError as error:
        return Finding("writable", well=False, text=str(error))
    return Finding("writable", well=True, text="a durable write came through")


def _probe(db: sqlite3.Connection) -> None:
    db.execute(_PROBE)


def _whole(sessions: Sessions) -> Finding:
    try:
        said = sessions.run("normal", _check)
    except LedgerError as error:
        return Finding("whole", well=False, text=str(error))
    return Finding("whole", well=said == "ok", text="no damage found" if said == "ok" else said)


def _check(db: sqlite3.Connection) -> str:
    said: str = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    return said


def _modes(path: Path) -> Finding:
    """Whether anybody but the owner can read what is recorded."""
    files = [file for end in ("", "-wal", "-shm") if (file := Path(f"{path}{end}")).exists()]
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
    open_to_others = {name: mode for name, mode in modes.items() if mode & 0o077}
    if open_to_others:
        seen = ", ".join(f"{name} {mode:04o}" for name, mode in open_to_others.items())
        return Finding("private", well=False, text=f"others can reach {seen}: chmod 600")
    return Finding("private", well=True, text="readable by its owner only")


def _clocks(sessions: Sessions, keeper: Timekeeper) -> Finding:
    drift = keeper.drift(keeper.anchor)
    if drift <= DRIFT:
        return Finding("clocks", well=True, text=f"agree within {DRIFT:g} s")
    held = sessions.run("normal", is_any_open)
    why = "resolve what is open, then they are set anew" if held else "the next claims set it anew"
    return Finding("clocks", well=not held, text=f"differ by {drift:.0f} s: {why}")
