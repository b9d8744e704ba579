"""The verbs of a SQLite ledger, on a connection that commits each statement by itself."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from retry_guard_core import Now, Record
from retry_guard_ledgers import _statements as sql
from retry_guard_ledgers._protocol import Answer, about, take_over
from retry_guard_ledgers._rows import COLUMNS, record_of, whole
from retry_guard_ledgers._rules import key_changed, one_of, resolved, unknown


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Hold the write lock; commit at the end, roll back on any exception."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def claim(db: sqlite3.Connection, record: Record, after: Record | None, now: Now) -> Record:
    """Return the record that counts; see `Ledger.claim`."""
    if after is None and db.execute(sql.INSERT, whole(record)).rowcount == 1:
        return record
    counts = _counts(db, record)
    if counts is not None and _answers(counts, after, now):
        return counts
    with transaction(db):
        counts = _counts(db, record)
        if counts is not None and _answers(counts, after, now):
            return counts
        if counts is not None and counts.state == "open":
            taken = take_over(counts, record)
            db.execute(sql.STORE, sql.stored_row(taken))
            return taken
        if counts is not None:
            db.execute(sql.USE_UP, (about(counts).scope, about(counts).id))
        action = about(record)
        db.execute(sql.LEAVE, (action.scope, action.identity))
        db.execute(sql.INSERT_NEXT, whole(record))
        db.execute(sql.ENTER, (action.scope, action.id))
        return record


def _answers(counts: Record, after: Record | None, now: Now) -> bool:
    """Whether a claim is answered by this record as it stands."""
    if counts.state == "open":
        return counts.lease >= now.earliest
    return after is None or about(counts).id != about(after).id


def _counts(db: sqlite3.Connection, record: Record) -> Record | None:
    """Find what answers a claim, in the order that `Ledger.claim` states."""
    scope, identity = about(record).scope, about(record).identity
    row = db.execute(sql.OPEN, (scope, identity)).fetchone()
    if row is not None:
        return record_of(row)
    row = db.execute(sql.ENDED, (scope, identity, record.turn)).fetchone()
    if row is None:
        return None
    counts = record_of(row[: len(COLUMNS)])
    return replace(counts, turn=record.turn) if row[-1] else counts


def save(db: sqlite3.Connection, record: Record) -> bool:
    """Store it if it may be; see `Ledger.save`."""
    row, action = sql.stored_row(record), about(record)
    if record.state != "open" and _changed(db, sql.SETTLE, row):
        return True
    if _changed(db, sql.SAVE, row):
        return True
    if record.state == "done":
        return _changed(db, sql.LATE, sql.late_row(record))
    if db.execute(sql.IS_MINE, (action.scope, action.id, record.owner)).fetchall():
        raise key_changed(record)
    return False


def _changed(db: sqlite3.Connection, statement: str, row: tuple[Any, ...]) -> bool:
    return db.execute(statement, row).rowcount > 0


def deliver(db: sqlite3.Connection, scope: str, action: str, turn: str | None) -> None:
    """Note that a caller of this turn has the result."""
    if _changed(db, sql.DELIVER_OWN, (scope, action, turn)):
        return
    if not db.execute(sql.UNTOLD, (scope, action, turn)).fetchall():
        return
    with transaction(db):
        db.execute(sql.DELIVER, (scope, action))
        db.execute(sql.TELL, (scope, action, turn))


def renew(db: sqlite3.Connection, records: list[Record], lease: float) -> None:
    """Move the leases of open records that their owners still hold."""
    with transaction(db):
        rows = [(about(r).scope, about(r).id, r.owner, lease) for r in records]
        db.executemany(sql.RENEW, rows)


def get(db: sqlite3.Connection, scope: str, action: str) -> Record | None:
    """Return one record by its id."""
    return _one(db, sql.GET, (scope, action))


def find(
    db: sqlite3.Connection, scope: str, key: str | None, effect_id: str | None
) -> Record | None:
    """Return the latest record that used the key, or that is tied to the effect."""
    kind, what = one_of(key, effect_id)
    return _one(db, sql.BY_KEY if kind == "key" else sql.BY_EFFECT, (scope, what))


def _one(db: sqlite3.Connection, statement: str, row: tuple[Any, ...]) -> Record | None:
    found = db.execute(statement, row).fetchall()
    return record_of(found[0]) if found else None


def newer(db: sqlite3.Connection, scope: str, record: Record) -> bool:
    """Whether another write to the record's resource was recorded after it."""
    action = about(record)
    return bool(db.execute(sql.NEWER, (scope, action.id, action.resource)).fetchall())


def listed(
    db: sqlite3.Connection, scope: str | None, state: str | None, older_than: float | None
) -> list[Record]:
    """Return records, the oldest first."""
    return [record_of(row) for row in db.execute(sql.LIST, (scope, state, older_than))]


def resolve(
    db: sqlite3.Connection,
    scope: str,
    action: str,
    answer: Answer,
    now: Now,
    value: bytes | None,
    final: bool,  # noqa: FBT001 - `Ledger.resolve` takes it by name
) -> Record:
    """Store an operator's answer; see `Ledger.resolve`."""
    with transaction(db):
        stored = get(db, scope, action)
        if stored is None:
            raise unknown(scope, action)
        record = resolved(stored, answer, now=now, value=value, final=final)
        db.execute(sql.STORE, sql.stored_row(record))
        return record


def secret(db: sqlite3.Connection) -> bytes:
    """Return the random bytes that were made with the ledger."""
    found: bytes = db.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()[0]
    return found


def prune(db: sqlite3.Connection, now: Now, keep_result: float) -> int:
    """Drop results that a caller had and that are older than so many seconds."""
    return db.execute(sql.PRUNE, (now.earliest, keep_result)).rowcount
