"""The anchor of the steady clock, as all processes that use a SQLite ledger share it."""

import sqlite3

from retry_guard_ledgers._clock import DRIFT, Timekeeper
from retry_guard_ledgers._verbs import transaction

_READ = "SELECT value FROM meta WHERE name = ?"
_WRITE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
_IS_OPEN = "SELECT 1 FROM records WHERE state = 'open' LIMIT 1"
_LATEST = (
    "SELECT max(max(claimed, settled_at, ifnull(ended, 0), ifnull(read_at, 0))) "
    "FROM records WHERE state = 'open'"
)


def shared_anchor(db: sqlite3.Connection, keeper: Timekeeper) -> float:
    """Return this boot's anchor, made anew where none is kept or none that matters.

    It matters as long as an action is open, since its times were read by it; then it stays even
    where it disagrees with the calendar. One that is made while actions are open, after another
    boot, does not let the time go back behind what they have recorded.
    """
    if not keeper.clocks.boot:
        return keeper.own_anchor(is_any_open=is_any_open(db))
    name = f"anchor {keeper.clocks.boot}"
    kept = _kept(db, keeper, name)
    if kept is not None:
        return kept
    with transaction(db):
        kept = _kept(db, keeper, name)
        if kept is None:
            kept = keeper.fresh_anchor(db.execute(_LATEST).fetchone()[0] or 0.0)
            db.execute(_WRITE, (name, kept))
    return kept


def _kept(db: sqlite3.Connection, keeper: Timekeeper, name: str) -> float | None:
    """Return the anchor that is to be used on; None: another is due."""
    row = db.execute(_READ, (name,)).fetchone()
    if row is None:
        return None
    anchor: float = row[0]
    return anchor if keeper.drift(anchor) <= DRIFT or is_any_open(db) else None


def is_any_open(db: sqlite3.Connection) -> bool:
    """Whether any action is open."""
    return bool(db.execute(_IS_OPEN).fetchall())
