"""Every statement that works on the records of a SQLite ledger; the parameters are numbered."""

# ruff: noqa: S608 - put together from constants of this package; every value is bound

from typing import Any

from retry_guard_core import Record
from retry_guard_ledgers._protocol import about
from retry_guard_ledgers._rows import COLUMNS, STATUS, keyed, status, whole

_ALL = ", ".join(f"records.{column}" for column in COLUMNS)
_IN_IDENTITY = "scope = ?1 AND identity = ?2"
_NAMED = "scope = ?1 AND id = ?2"

_INSERT = (
    f"INSERT INTO records ({', '.join(COLUMNS)}, live) "
    f"SELECT {', '.join(f'?{place}' for place in range(1, len(COLUMNS) + 1))}, 1"
)
INSERT = _INSERT
INSERT_FIRST = (
    f"{_INSERT} WHERE NOT EXISTS (SELECT 1 FROM records WHERE {_IN_IDENTITY} AND live = 1) "
    f"AND NOT EXISTS (SELECT 1 FROM records WHERE {_IN_IDENTITY} AND n IS NOT NULL)"
)

# Scope, identity, id, state and owner come first in what `stored` binds.
_NEXT = (
    "(SELECT ifnull(max(same.n), 0) + 1 FROM records AS same "
    "WHERE same.scope = ?1 AND same.identity = ?2 AND same.n IS NOT NULL)"
)
_RANK = f"CASE WHEN ?4 = 'open' THEN NULL WHEN ?4 = state THEN n ELSE {_NEXT} END"
_STATUS = ", ".join(f"{column} = ?{place}" for place, column in enumerate(STATUS, 4))
_AFTER = 4 + len(STATUS)
_MINE = "scope = ?1 AND id = ?3 AND state = 'open' AND owner = ?5"
_KEYED = ", ".join(
    f"{column} = ?{place}"
    for place, column in enumerate(("generation", "key", "effect_id", "delivered"), _AFTER)
)
_LIVE = "?4 = 'open' OR (?4 = 'done' AND NOT "
SETTLE = (
    f"UPDATE records SET n = {_NEXT}, {_STATUS} WHERE {_MINE} AND NOT delivered "
    f"AND generation = ?{_AFTER} AND key IS ?{_AFTER + 1} AND effect_id IS ?{_AFTER + 2}"
)
STORE = (
    f"UPDATE records SET n = {_RANK}, live = {_LIVE} ?{_AFTER + 3}), {_STATUS}, {_KEYED} "
    "WHERE scope = ?1 AND id = ?3"
)
SAVE = (
    f"UPDATE records SET n = {_RANK}, live = {_LIVE} ?{_AFTER + 3}), {_STATUS}, {_KEYED} "
    f"WHERE {_MINE} AND (key IS ?{_AFTER + 1} OR generation <> ?{_AFTER})"
)
LATE = (
    f"UPDATE records SET n = {_NEXT}, live = NOT delivered, state = 'done', value = ?4, "
    "settled_at = ?5 WHERE scope = ?1 AND id = ?3 AND state <> 'done'"
)
IS_MINE = "SELECT 1 FROM records WHERE scope = ?1 AND id = ?2 AND state = 'open' AND owner = ?3"

OPEN = f"SELECT {_ALL} FROM records WHERE {_IN_IDENTITY} AND live = 1 AND state = 'open'"
_OF_TURN = (
    f"SELECT max(n) AS n FROM records WHERE {_IN_IDENTITY} AND n IS NOT NULL AND turn = ?3 "
    "UNION ALL SELECT max(records.n) FROM answers JOIN records USING (seq) "
    "WHERE answers.scope = ?1 AND answers.identity = ?2 AND answers.turn = ?3 "
    f"UNION ALL SELECT max(n) FROM records WHERE {_IN_IDENTITY} AND live = 1 AND n IS NOT NULL"
)
ENDED = (
    f"SELECT {_ALL}, EXISTS (SELECT 1 FROM answers WHERE answers.scope = ?1 "
    "AND answers.identity = ?2 AND answers.turn = ?3 AND answers.seq = records.seq) "
    f"FROM records WHERE {_IN_IDENTITY} AND n = coalesce((SELECT max(n) FROM ({_OF_TURN})), "
    f"(SELECT max(n) FROM records WHERE {_IN_IDENTITY} AND n IS NOT NULL))"
)
USE_UP = f"UPDATE records SET answer = NULL WHERE {_NAMED} AND answer = 'again'"

DELIVER = (
    f"UPDATE records SET delivered = 1, live = 0 WHERE {_NAMED} AND state = 'done' "
    "AND NOT delivered"
)
DELIVER_OWN = f"{DELIVER} AND turn IS ?3"
UNDELIVERED = (
    f"SELECT 1 FROM records WHERE {_NAMED} AND state = 'done' AND (NOT delivered "
    "OR (turn IS NOT ?3 AND ?3 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM answers "
    "WHERE answers.scope = records.scope AND answers.identity = records.identity "
    "AND answers.turn = ?3 AND answers.seq = records.seq)))"
)
ANSWERED = (
    "INSERT OR IGNORE INTO answers SELECT scope, identity, ?3, seq FROM records "
    f"WHERE {_NAMED} AND state = 'done' AND turn IS NOT ?3 AND ?3 IS NOT NULL"
)
RENEW = f"UPDATE records SET lease = ?4 WHERE {_NAMED} AND state = 'open' AND owner = ?3"
GET = f"SELECT {_ALL} FROM records WHERE {_NAMED}"
BY_KEY = (
    f"SELECT {_ALL} FROM records WHERE seq = (SELECT max(seq) FROM ("
    "SELECT max(seq) AS seq FROM records WHERE scope = ?1 AND key = ?2 UNION ALL "
    "SELECT max(seq) FROM former_keys WHERE scope = ?1 AND key = ?2))"
)
BY_EFFECT = (
    f"SELECT {_ALL} FROM records WHERE scope = ?1 AND effect_id = ?2 ORDER BY seq DESC LIMIT 1"
)
NEWER = (
    "SELECT 1 FROM records WHERE seq > (SELECT seq FROM records "
    f"WHERE {_NAMED}) AND scope = ?1 AND resource = ?3 LIMIT 1"
)
LIST = (
    f"SELECT {_ALL} FROM records WHERE (?1 IS NULL OR scope = ?1) "
    "AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR claimed < ?3) ORDER BY seq"
)
LIST_LIVE = f"{LIST[: LIST.index(' ORDER')]} AND live = 1 ORDER BY seq"
PRUNE = (
    "UPDATE records SET value = NULL WHERE value IS NOT NULL AND live = 0 AND ?1 - settled_at > ?2"
)


def new_row(record: Record) -> tuple[Any, ...]:
    """Return what `INSERT` and `INSERT_FIRST` bind."""
    return whole(record)


def stored_row(record: Record) -> tuple[Any, ...]:
    """Return what `STORE` and `SAVE` bind."""
    return (*settled_row(record), record.delivered)


def settled_row(record: Record) -> tuple[Any, ...]:
    """Return what `SETTLE` binds."""
    action = about(record)
    return (action.scope, action.identity, action.id, *status(record), *keyed(record))


def late_row(record: Record) -> tuple[Any, ...]:
    """Return what `LATE` binds."""
    action = about(record)
    return (action.scope, action.identity, action.id, record.value, record.settled_at)
