"""How a record stands in a row of the table `records`."""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from retry_guard_core import Record
from retry_guard_ledgers._protocol import Action, about

FIXED = (
    "scope", "identity", "id", "turn", "tool", "resource", "ordinal", "content", "contract",
    "scheme", "arguments",
)  # fmt: skip
KEYED = ("generation", "key", "effect_id")  # indexed, or bound to the key
STATUS = (
    "state", "owner", "claimed", "lease", "fresh", "sends", "tries", "ended", "seen", "read_at",
    "settled_at", "asked_at", "answer", "call_ids", "value",
)  # fmt: skip
COLUMNS = (*FIXED, *STATUS, *KEYED, "delivered")
"""What a row of a record holds, in the order in which it is written and read."""

Row = tuple[Any, ...]


def _fixed(record: Record, action: Action) -> Row:
    """Return what never changes."""
    return (
        action.scope,
        action.identity,
        action.id,
        record.turn,
        record.tool,
        action.resource,
        action.ordinal,
        record.content,
        action.contract,
        action.scheme,
        action.arguments,
    )


def changing(record: Record, action: Action) -> Row:
    """Return what a save may change: `STATUS`, `KEYED` and whether it is delivered."""
    return (
        record.state,
        record.owner,
        record.claimed,
        record.lease,
        record.fresh,
        " ".join(map(repr, record.sends)),
        record.tries,
        record.ended,
        record.seen,
        record.read_at,
        record.settled_at,
        record.asked_at,
        record.answer,
        f"[{','.join(map(quoted, action.call_ids))}]",
        record.value,
        record.generation,
        record.key,
        action.effect_id,
        record.delivered,
    )


def whole(record: Record) -> Row:
    """Return the whole row, as `COLUMNS` has it."""
    action = about(record)
    return _fixed(record, action) + changing(record, action)


def record_of(row: Sequence[Any]) -> Record:
    """Return the record that stands in a row."""
    values = dict(zip(COLUMNS, row, strict=True))
    action = Action(
        **{name: values.pop(name) for name in ("scope", "identity", "id", "resource", "ordinal")},
        **{name: values.pop(name) for name in ("arguments", "effect_id", "contract", "scheme")},
        call_ids=tuple(json.loads(values.pop("call_ids"))),
    )
    sends = tuple(float(time) for time in values.pop("sends").split())
    delivered = bool(values.pop("delivered"))
    return Record(**values, sends=sends, delivered=delivered, about=action)
