"""Every statement that works on the records of a SQLite ledger; the parameters are numbered."""

# ruff: noqa: S608 - put together from constants of this package; every value is bound

from typing import Any

from retry_guard_core import Record
from retry_guard_ledgers._action import about
from retry_guard_ledgers._rows import COLUMNS, STATUS, changing

_ALL = ", ".join(f"records.{column}" for column in COLUMNS)
_NAMED = "seq = ?1 AND id = ?2"
_NEAR = "scope = ?1 AND identity = ?2 AND near = 1"

INSERT = (
    f"INSERT INTO records (near, {', '.join(COLUMNS)}) "
    f"VALUES (1, {', '.join(f'?{place}' for place in range(1, len(COLUMNS) + 1))})"
)
INSERT_NEXT = INSERT.replace("VALUES (1,", "VALUES (0,")
ENTER = "UPDATE records SET near = 1 WHERE seq = ?1"

# What `stored_row` binds: row and id, the status (state and owner come first), the rest.
_STATUS = ", ".join(f"{column} = ?{place}" for place, column in enumerate(STATUS, 3))
_MINE = f"{_NAMED} AND state = 'open' AND owner = ?4"
_GENERATION = 3 + len(STATUS)
_OWN, _OTHERS, _UNNAMED = 1, 2, 4
"""`delivered`: to the turn that began it, to the turns in `answers`, to a caller without one."""
_KEY, _EFFECT, _DELIVERED = (f"?{_GENERATION + place}" for place in (1, 2, 3))
_KEYED = f"generation = ?{_GENERATION}, key = {_KEY}, effect_id = {_EFFECT}"
_NEXT = (
    "(SELECT max(same.n) + 1 FROM records AS same WHERE same.scope = records.scope "
    "AND same.identity = records.identity AND same.near = 1)"
)
_RANK = f"CASE WHEN ?3 = 'open' THEN 0 WHEN ?3 = state THEN n ELSE {_NEXT} END"
SETTLE = (
    f"UPDATE records SET n = {_NEXT}, {_STATUS} WHERE {_MINE} AND delivered = {_DELIVERED} "
    f"AND generation = ?{_GENERATION} AND key IS {_KEY} AND effect_id IS {_EFFECT}"
)
SAVE = (
    f"UPDATE records SET n = {_RANK}, {_STATUS}, {_KEYED}, delivered = {_DELIVERED} "
    f"WHERE {_MINE} AND (key IS {_KEY} OR generation <> ?{_GENERATION})"
)
STORE = (
    f"UPDATE records SET n = {_RANK}, near = 1, {_STATUS}, {_KEYED}, "
    f"delivered = CASE WHEN {_DELIVERED} THEN max(delivered, {_OWN}) ELSE 0 END WHERE {_NAMED}"
)
LATE = (
    f"UPDATE records SET n = {_NEXT}, near = 1, state = 'done', value = ?3, settled_at = ?4 "
    f"WHERE {_NAMED} AND state <> 'done'"
)
IS_MINE = f"SELECT 1 FROM records WHERE {_NAMED} AND state = 'open' AND owner = ?3"

OPEN = f"SELECT {_ALL}, seq, 0 FROM records WHERE {_NEAR} AND n = 0"
_ANSWERED = (
    "EXISTS (SELECT 1 FROM answers WHERE answers.scope = ?1 AND answers.identity = ?2 "
    "AND answers.turn = ?3 AND answers.seq = records.seq)"
)
_CANDIDATES = (
    "SELECT seq, n, (turn = ?3) IS TRUE OR (state = 'done' AND NOT delivered) "
    f"OR {_ANSWERED} AS hit FROM records WHERE {_NEAR} AND n > 0 "
    "UNION ALL SELECT seq, n, 1 FROM records "
    "WHERE scope = ?1 AND identity = ?2 AND turn = ?3 AND near = 0 "
    "UNION ALL SELECT records.seq, n, 1 FROM answers JOIN records ON records.seq = answers.seq "
    "WHERE answers.scope = ?1 AND answers.identity = ?2 AND answers.turn = ?3 AND n > 0"
)
ENDED = (
    f"SELECT {_ALL}, seq, {_ANSWERED} FROM records WHERE seq = "
    f"(SELECT seq FROM ({_CANDIDATES}) ORDER BY hit DESC, n DESC LIMIT 1)"
)
LEAVE = (
    f"UPDATE records SET near = 0 WHERE {_NEAR} AND n > 0 AND (state <> 'done' OR delivered) "
    f"AND n < (SELECT max(n) FROM records WHERE {_NEAR})"
)
USE_UP = f"UPDATE records SET answer = NULL WHERE {_NAMED} AND answer = 'again'"

_TOLD = (
    "EXISTS (SELECT 1 FROM answers WHERE answers.scope = records.scope "
    "AND answers.identity = records.identity AND answers.seq = records.seq"
)
_BIT = f"CASE WHEN turn IS ?3 THEN {_OWN} WHEN ?3 IS NULL THEN {_UNNAMED} ELSE {_OTHERS} END"
DELIVER = f"UPDATE records SET delivered = delivered | {_BIT} WHERE {_NAMED} AND state = 'done'"
DELIVER_OWN = f"{DELIVER} AND turn IS ?3 AND NOT delivered & {_OWN}"
UNTOLD = (
    f"SELECT 1 FROM records WHERE {_NAMED} AND state = 'done' AND (NOT delivered & {_BIT} "
    f"OR (turn IS NOT ?3 AND ?3 IS NOT NULL AND NOT {_TOLD} AND answers.turn = ?3)))"
)
UNTELL = (
    "DELETE FROM answers WHERE (scope, identity, turn, seq) = "
    f"(SELECT scope, identity, ?3, seq FROM records WHERE {_NAMED})"
)
TAKE_BACK = (
    f"UPDATE records SET near = 1, delivered = delivered & ~CASE {_BIT} "
    f"WHEN {_OTHERS} THEN {_OTHERS} * NOT {_TOLD}) ELSE {_BIT} END "
    f"WHERE {_NAMED} AND state = 'done' AND delivered"
)
TELL = (
    "INSERT OR IGNORE INTO answers SELECT scope, identity, ?3, seq FROM records "
    f"WHERE {_NAMED} AND state = 'done' AND ?3 IS NOT NULL AND turn IS NOT ?3"
)

MET_AS = "retry-guard: met by another name"
"""Stands in `answers` in place of a turn, with an identity that is not the record's own."""
MEET = f"INSERT OR IGNORE INTO answers SELECT scope, ?3, ?4, seq FROM records WHERE {_NAMED}"
MET = (
    f"SELECT {_ALL}, answers.identity FROM answers JOIN records ON records.seq = answers.seq "
    "WHERE answers.scope = ?1 AND answers.turn = ?2 AND records.tool = ?3"
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
NEWER = "SELECT 1 FROM records WHERE seq > ?1 AND scope = ?2 AND resource = ?3 LIMIT 1"
LIST = (
    f"SELECT {_ALL} FROM records WHERE (?1 IS NULL OR scope = ?1) "
    "AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR claimed < ?3) ORDER BY seq"
)
LIST_OPEN = (  # few are open, and the index `one_open` alone tells which
    f"SELECT {_ALL} FROM records INDEXED BY one_open WHERE near = 1 AND n = 0 "
    "AND (?1 IS NULL OR scope = ?1) AND state = ?2 AND (?3 IS NULL OR claimed < ?3) ORDER BY seq"
)
COUNT = "SELECT coalesce(max(seq), 0) FROM records"  # none is ever removed
LATER = f"SELECT {_ALL} FROM records WHERE seq > ?1 AND seq <= ?2 AND n = 0 ORDER BY seq"
LATER_OPEN = LATER.replace("records WHERE", "records INDEXED BY one_open WHERE near = 1 AND")
IS_ANY_OPEN = "SELECT 1 FROM records INDEXED BY one_open WHERE near = 1 AND n = 0 LIMIT 1"
PRUNE = (
    "UPDATE records SET value = NULL WHERE value IS NOT NULL AND n > 0 "
    "AND (state <> 'done' OR delivered) AND ?1 - settled_at > ?2"
)


def stored_row(place: int, record: Record) -> tuple[Any, ...]:
    """Return what `SETTLE`, `SAVE` and `STORE` bind."""
    action = about(record)
    return (place, action.id, *changing(record, action))
