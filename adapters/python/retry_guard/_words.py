"""How a call ended, in the words of the caller."""

from dataclasses import replace
from typing import Any

from retry_guard._answers import Unresolved
from retry_guard._batches import missing_in
from retry_guard._call import Call, Site
from retry_guard._own_key import differing_from, offered
from retry_guard._texts import Recorded, explain, warn
from retry_guard._windows import lapsed
from retry_guard_contracts import ArgumentError, decode
from retry_guard_core import End, Record
from retry_guard_ledgers import about
from retry_guard_outcomes import Done


def heard(note: str, after: Record | None) -> str:
    """Return the note of a call, unless it says that the outcome of what was never sent is open.

    `after`: the record that ended before this call.
    """
    never = after is not None and not after.sends
    return "" if never and note == "abandoned" else note


def unresolved(call: Call, record: Record, site: Site, end: End) -> Unresolved:
    """The answer to a call that stops here."""
    missing, tool = missing_in(call, record), call.contract.tool
    reason = end.note if record.sends or end.note != "abandoned" else "rejected"
    answer = Unresolved(about(record).id, reason, end.not_before, tool=tool, missing=missing)
    try:
        fields = differing_from(record, call, site)
    except ArgumentError:
        fields = ()
    other = record.content != call.draft.content
    key = lapsed(call, record, site)
    return replace(answer, text=explain(answer, fields, other_content=other, lapsed=key))


def done(
    call: Call,
    record: Record,
    value: bytes | None,
    own: Done | None,
    notes: list[str],
    *,
    sent: bool,
) -> Done:
    """The answer to a call of what happened: the caller's own value, or the recorded one."""
    here = sent and record.owner == call.draft.owner
    if here and offered(call) not in (None, record.key):
        notes.append("key_replaced")
    if record.turn != call.draft.turn and call.turn is not None:
        notes.append("earlier_turn")
    if record.content != call.draft.content:
        notes.append("content_not_sent")
    if value is None:
        notes.append("result_not_stored")
    answer = own.value if own else kept(value)
    return Done(answer, replayed=not (own or here), warning=warn(*dict.fromkeys(notes)))


def error_of(value: bytes | None) -> Recorded | None:
    """Return a stored error."""
    error = kept(value)
    return Recorded(error) if isinstance(error, str) else None


def kept(value: bytes | None) -> Any:
    """Return a stored result or error text as it was; None where none could be kept."""
    return None if value is None else decode(value)
