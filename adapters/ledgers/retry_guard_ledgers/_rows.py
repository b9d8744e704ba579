"""How a record stands in a row of the table `records`."""

import json
import math
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted
from types import NoneType
from typing import Any

from retry_guard_core import Record
from retry_guard_ledgers._action import Action, about
from retry_guard_ledgers._protocol import LedgerError

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

_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("scope", "id", "tool", "resource", "contract", "owner"), (str,)),
    **dict.fromkeys(("turn", "seen", "key", "effect_id"), (str, NoneType)),
    **dict.fromkeys(("identity", "content", "arguments"), (bytes,)),
    **dict.fromkeys(("ordinal", "scheme", "fresh", "tries", "generation", "delivered"), (int,)),
    **dict.fromkeys(("claimed", "lease", "settled_at"), (float,)),
    **dict.fromkeys(("ended", "read_at", "asked_at"), (float, NoneType)),
    "value": (bytes, NoneType),
}
_WORDS: dict[str, tuple[str | None, ...]] = {
    "state": ("open", "done", "not_executed", "abandoned"),
    "answer": ("did_not_happen", "again", None),
}

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
    """Return the record that stands in a row. Raises `LedgerError` for a row that is damaged."""
    values: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    wrong = [name for name, kinds in _KINDS.items() if not isinstance(values[name], kinds)]
    wrong += [name for name, words in _WORDS.items() if values[name] not in words]
    sends, call_ids = _times(values["sends"]), _names(values["call_ids"])
    wrong += [name for name, read in (("sends", sends), ("call_ids", call_ids)) if read is None]
    if wrong:
        raise LedgerError(
            f"the record of action {values['id']!r} in scope {values['scope']!r} is damaged "
            f"({', '.join(wrong)}): stop, keep the file, restore a copy or mend that row"
        )
    values |= {"sends": sends, "call_ids": call_ids, "delivered": bool(values["delivered"])}
    action = Action(
        **{name: values.pop(name) for name in ("scope", "identity", "id", "resource", "ordinal")},
        **{name: values.pop(name) for name in ("arguments", "effect_id", "contract", "scheme")},
        call_ids=values.pop("call_ids"),
    )
    return Record(**values, about=action)


def _times(stored: object) -> tuple[float, ...] | None:
    """Return the times of the sends; None for what is no list of times."""
    if not isinstance(stored, str):
        return None
    try:
        times = tuple(map(float, stored.split()))
    except ValueError:
        return None
    return None if any(map(math.isnan, times)) else times


def _names(stored: object) -> tuple[str, ...] | None:
    """Return the names of the calls; None for what is no list of names."""
    if not isinstance(stored, str):
        return None
    try:
        names: Any = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnknownVariableType] - what JSON holds has any type
        return None
    return tuple(names)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - they are strings
