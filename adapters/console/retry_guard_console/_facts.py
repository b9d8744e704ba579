"""A record as a person or a machine reads it."""

import json
import math
from dataclasses import asdict, is_dataclass
from typing import Any

from retry_guard_console._shared import moment
from retry_guard_core import GuardError, Record
from retry_guard_ledgers import about, mark

HIDDEN = "hidden (--show-key shows it)"

_TIMES = ("ended", "read_at", "settled_at", "asked_at", "claimed", "lease")


def last_sent(record: Record) -> float:
    """Return when it was last sent, or claimed where it was not."""
    return max(record.sends, default=record.claimed)


def facts(record: Record, *, show_key: bool = False) -> dict[str, Any]:
    """Return everything that is recorded of an action; times in seconds since the epoch."""
    action = about(record)
    final = record.asked_at == math.inf
    return {
        "id": action.id,
        "state": record.state,
        "mark": mark(record),
        "scope": action.scope,
        "tool": record.tool,
        "resource": action.resource,
        "turn": record.turn,
        "ordinal": action.ordinal,
        "arguments": readable(action.arguments),
        "key": record.key if show_key or record.key is None else HIDDEN,
        "generation": record.generation,
        "fresh_sends": record.fresh,
        "sends": list(record.sends),
        "ended": record.ended,
        "tries": record.tries,
        "seen": record.seen,
        "read_at": record.read_at,
        "value": readable(record.value),
        "delivered": record.delivered,
        "settled_at": record.settled_at or None,
        "answer": record.answer,
        "asked_at": None if final else record.asked_at,
        "final": final,
        "owner": record.owner,
        "claimed": record.claimed,
        "lease": record.lease,
        "effect_id": action.effect_id,
        "call_ids": list(action.call_ids),
        "identity": action.identity.hex(),
        "content": record.content.hex(),
        "contract": action.contract,
        "scheme": action.scheme,
    }


def for_people(known: dict[str, Any]) -> dict[str, str]:
    """Return the same with times in UTC, and without what is empty."""
    said = {name: _said(name, value) for name, value in known.items()}
    return {name: text for name, text in said.items() if text}


def _said(name: str, value: Any) -> str:  # noqa: ANN401 - a fact has any type
    if value is None or value == []:
        return ""
    if name in _TIMES:
        return f"{moment(value)} UTC"
    if name == "sends":
        return ", ".join(f"{moment(time)} UTC" for time in value)
    return value if isinstance(value, str) else json.dumps(value, default=plain)


def readable(stored: bytes | None) -> Any:  # noqa: ANN401 - a stored value has any type
    """Return what was stored, or its bytes as text where this version cannot read them."""
    from retry_guard_contracts import decode

    if not stored:
        return None
    try:
        return decode(stored)
    except (GuardError, ValueError, RecursionError):
        return stored.decode("utf-8", "backslashreplace")


def plain(value: Any) -> Any:  # noqa: ANN401 - as `json.dumps` calls it
    """Return what JSON has no type for as something that it has."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType] - of any type
    return str(value)
