"""The verbs of a SQLite ledger, on a connection that commits each statement by itself."""

import sqlite3
from typing import Any

from retry_guard_core import Now, Record
from retry_guard_ledgers import _statements as sql
from retry_guard_ledgers._action import about
from retry_guard_ledgers._anchors import follow
from retry_guard_ledgers._clock import Timekeeper
from retry_guard_ledgers._copies import changed
from retry_guard_ledgers._places import Places
from retry_guard_ledgers._protocol import Answer, take_over
from retry_guard_ledgers._rows import record_of, whole
from retry_guard_ledgers._rules import check_seen, key_changed, one_of, resolved, unknown
from retry_guard_ledgers._transactions import transaction

FEW = 1000
"""Records that are looked at one by one; of more, an index tells which are open."""


def claim(
    db: sqlite3.Connection,
    places: Places,
    keeper: Timekeeper,
    record: Record,
    after: Record | None,
    now: Now,
) -> Record:
    """Return the record that counts; see `Ledger.claim`."""
    action = about(record)
    if after is None:
        done = db.execute(sql.INSERT, whole(record))
        if done.rowcount == 1:
            places.remember(action.scope, action.id, done.lastrowid or 0)
            return record
    counts = known(db, places, record)
    if counts is not None and _answers(counts, after, now):
        return counts
    with transaction(db):
        follow(db, keeper)
        counts = known(db, places, record)
        if counts is not None and _answers(counts, after, keeper.judging(now)):
            return counts
        if counts is not None and counts.state == "open":
            return _store(db, places, take_over(counts, record))
        if counts is not None:
            place = places.row(db, action.scope, about(counts).id)
            db.execute(sql.USE_UP, (place, about(counts).id))
        db.execute(sql.LEAVE, (action.scope, action.identity))
        place = db.execute(sql.INSERT_NEXT, whole(record)).lastrowid or 0
        db.execute(sql.ENTER, (place,))
    places.remember(action.scope, action.id, place)
    return record


def _answers(counts: Record, after: Record | None, now: Now) -> bool:
    """Whether a claim is answered by this record as it stands."""
    if counts.state == "open":
        return counts.lease >= now.earliest
    return after is None or about(counts).id != about(after).id


def known(db: sqlite3.Connection, places: Places, record: Record) -> Record | None:
    """Find what answers a claim, in the order that `Ledger.claim` states; see `Ledger.known`."""
    scope, identity = about(record).scope, about(record).identity
    rows = db.execute(sql.OPEN, (scope, identity)).fetchall()
    rows = rows or db.execute(sql.ENDED, (scope, identity, record.turn)).fetchall()
    if not rows:
        return None
    *row, place, answered = rows[0]
    counts = record_of(row)
    places.remember(scope, about(counts).id, place)
    return changed(counts, turn=record.turn) if answered else counts


def save(db: sqlite3.Connection, places: Places, record: Record) -> bool:
    """Store it if it may be; see `Ledger.save`."""
    name = about(record).id
    place = places.row(db, about(record).scope, name)
    if place is None:
        return False
    row = sql.stored_row(place, record)
    if record.state != "open" and _did(db, sql.SETTLE, row):
        return True
    if _did(db, sql.SAVE, row):
        return True
    if record.state == "done":
        return _did(db, sql.LATE, (place, name, record.value, record.settled_at))
    if db.execute(sql.IS_MINE, (place, name, record.owner)).fetchall():
        raise key_changed(record)
    return False


def _did(db: sqlite3.Connection, statement: str, row: tuple[Any, ...]) -> bool:
    return db.execute(statement, row).rowcount > 0


def _store(db: sqlite3.Connection, places: Places, record: Record) -> Record:
    """Write a record over what is stored of it."""
    place = places.row(db, about(record).scope, about(record).id) or 0
    db.execute(sql.STORE, sql.stored_row(place, record))
    return record


def deliver(
    db: sqlite3.Connection, places: Places, scope: str, action: str, turn: str | None
) -> None:
    """Note that a caller of this turn has the result."""
    told = (places.row(db, scope, action), action, turn)
    if _did(db, sql.DELIVER_OWN, told) or not db.execute(sql.UNTOLD, told).fetchall():
        return
    with transaction(db):
        db.execute(sql.DELIVER, told)
        db.execute(sql.TELL, told)


def take_back(
    db: sqlite3.Connection, places: Places, scope: str, action: str, turn: str | None
) -> None:
    """Undo what `deliver` noted for this turn."""
    told = (places.row(db, scope, action), action, turn)
    with transaction(db):
        db.execute(sql.UNTELL, told)
        db.execute(sql.TAKE_BACK, told)


def renew(db: sqlite3.Connection, places: Places, records: list[Record], lease: float) -> None:
    """Move the leases of open records that their owners still hold."""
    named = [(about(r).scope, about(r).id, r.owner) for r in records]
    rows = [(places.row(db, scope, name), name, owner, lease) for scope, name, owner in named]
    with transaction(db):
        db.executemany(sql.RENEW, rows)


def get(db: sqlite3.Connection, places: Places, scope: str, action: str) -> Record | None:
    """Return one record by its id."""
    return _one(db, sql.GET, (places.row(db, scope, action), action))


def find(
    db: sqlite3.Connection, scope: str, key: str | None, effect_id: str | None
) -> Record | None:
    """Return the latest record that used the key, or that is tied to the effect."""
    kind, what = one_of(key, effect_id)
    return _one(db, sql.BY_KEY if kind == "key" else sql.BY_EFFECT, (scope, what))


def _one(db: sqlite3.Connection, statement: str, row: tuple[Any, ...]) -> Record | None:
    found = db.execute(statement, row).fetchall()
    return record_of(found[0]) if found else None


def newer(db: sqlite3.Connection, places: Places, scope: str, record: Record) -> bool:
    """Whether another write to the record's resource was recorded after it."""
    place = places.row(db, scope, about(record).id)
    return bool(db.execute(sql.NEWER, (place, scope, about(record).resource)).fetchall())


def listed(
    db: sqlite3.Connection, scope: str | None, state: str | None, older_than: float | None
) -> list[Record]:
    """Return records, the oldest first."""
    statement = sql.LIST_OPEN if state == "open" else sql.LIST
    return [record_of(row) for row in db.execute(statement, (scope, state, older_than))]


def begun(db: sqlite3.Connection, after: int | None) -> tuple[int, list[Record]]:
    """Return how many records were ever begun, and the open ones of those that came later."""
    count: int = db.execute(sql.COUNT).fetchone()[0]
    if after is None or after >= count:
        return count, []
    statement = sql.LATER if count - after < FEW else sql.LATER_OPEN
    return count, [record_of(row) for row in db.execute(statement, (after, count))]


def meet(db: sqlite3.Connection, places: Places, scope: str, action: str, identity: bytes) -> None:
    """Note that a call of another identity was refused for this record."""
    db.execute(sql.MEET, (places.row(db, scope, action), action, identity, sql.MET_AS))


def met(db: sqlite3.Connection, scope: str, tool: str) -> list[tuple[bytes, Record]]:
    """Return what was noted of a tool's records; see `Ledger.met`."""
    rows = db.execute(sql.MET, (scope, sql.MET_AS, tool)).fetchall()
    return [(row[-1], record_of(row[:-1])) for row in rows]


def resolve(
    db: sqlite3.Connection,
    places: Places,
    keeper: Timekeeper,
    scope: str,
    action: str,
    answer: Answer,
    now: Now,
    value: bytes | None,
    final: bool,  # noqa: FBT001 - `Ledger.resolve` takes it by name
    seen: Record | None,
) -> Record:
    """Store an operator's answer; see `Ledger.resolve`."""
    places.row(db, scope, action)  # looked for before anybody has to wait
    with transaction(db):
        follow(db, keeper)
        stored = get(db, places, scope, action)
        if stored is None:
            raise unknown(scope, action)
        check_seen(stored, seen)
        record = resolved(stored, answer, now=keeper.judging(now), value=value, final=final)
        return _store(db, places, record)


def secret(db: sqlite3.Connection) -> bytes:
    """Return the random bytes that were made with the ledger."""
    found: bytes = db.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()[0]
    return found


def prune(db: sqlite3.Connection, now: Now, keep_result: float) -> int:
    """Drop results that a caller had and that are older than so many seconds."""
    return db.execute(sql.PRUNE, (now.earliest, keep_result)).rowcount
