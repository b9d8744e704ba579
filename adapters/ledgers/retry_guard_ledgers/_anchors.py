"""The anchor of the steady clock, as all processes that use a SQLite ledger share it."""

import sqlite3

from retry_guard_ledgers._clock import DRIFT, Timekeeper
from retry_guard_ledgers._statements import IS_ANY_OPEN
from retry_guard_ledgers._transactions import transaction

_READ = "SELECT value FROM meta WHERE name = ?"
_WRITE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
_RECORDED = "max(claimed, settled_at, ifnull(ended, 0), ifnull(read_at, 0))"
_LATEST = (
    "SELECT max(CASE WHEN n = 0 THEN recorded ELSE max(recorded, lease) END) "  # noqa: S608 - no values
    f"FROM (SELECT n, lease, {_RECORDED} AS recorded FROM records) "
    "WHERE n = 0 OR max(recorded, lease) <= ?"
)


def shared_anchor(db: sqlite3.Connection, keeper: Timekeeper) -> float:
    """Return this boot's anchor, made anew where none is kept or none that matters.

    It matters as long as an action is open, since its times were read by it; then it stays even
    where it disagrees with the calendar. One that is made anew does not let the time go back
    behind what is recorded of open actions, nor, within `FAR`, of those that ended: after a
    calendar that was ahead the time stands still between calls until the calendar has caught up.
    """
    if not keeper.clocks.boot:
        return keeper.own_anchor(is_any_open=is_any_open(db))
    kept = _kept(db, keeper)
    if kept is not None:
        return kept
    with transaction(db):
        kept = _kept(db, keeper)
        if kept is None:
            latest = db.execute(_LATEST, (keeper.believable(),)).fetchone()[0]
            kept = keeper.fresh_anchor(latest or 0.0)
            db.execute(_WRITE, (keeper.name, kept))
    return kept


def follow(db: sqlite3.Connection, keeper: Timekeeper) -> None:
    """Use the anchor that is kept, should another process have made it anew."""
    row = db.execute(_READ, (keeper.name,)).fetchone() if keeper.clocks.boot else None
    if row is not None:
        keeper.anchor = row[0]


def _kept(db: sqlite3.Connection, keeper: Timekeeper) -> float | None:
    """Return the anchor that is to be used on; None: another is due."""
    row = db.execute(_READ, (keeper.name,)).fetchone()
    if row is None:
        return None
    anchor: float = row[0]
    return anchor if keeper.drift(anchor) <= DRIFT or is_any_open(db) else None


def is_any_open(db: sqlite3.Connection) -> bool:
    """Whether any action is open."""
    return bool(db.execute(IS_ANY_OPEN).fetchall())
