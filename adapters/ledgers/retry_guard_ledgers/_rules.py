"""What every ledger decides in the same way, beside `take_over` and `may_save`."""

import hashlib
from dataclasses import dataclass
from math import inf

from retry_guard_core import Now, Record
from retry_guard_ledgers._action import Action, about
from retry_guard_ledgers._copies import changed
from retry_guard_ledgers._protocol import Answer, ChangedError, HeldError, LedgerError

KEEP_RESULT = 86400.0
"""Seconds for which a result is kept once a caller has it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at in a ledger: what, whether it is well, and what was seen."""

    name: str
    well: bool
    text: str


def saved(stored: Record, new: Record) -> Record:
    """Return what is kept when a save of `new` was accepted.

    Raises `LedgerError` for a new key without a new generation, unless it is done: a fact.
    """
    forged = new.key != stored.key and new.generation == stored.generation
    mine = stored.state == "open" and stored.owner == new.owner
    if new.state == "done" and (forged or not mine):
        return changed(stored, state="done", value=new.value, settled_at=new.settled_at)
    if forged:
        raise key_changed(new)
    kept = _kept(about(stored), about(new))
    fixed = stored.tool, stored.turn, stored.content
    if kept is new.about and fixed == (new.tool, new.turn, new.content):
        return new
    return changed(new, tool=stored.tool, turn=stored.turn, content=stored.content, about=kept)


def _kept(ours: Action, theirs: Action) -> Action:
    """Return what names the action, of which a save changes only two things."""
    if theirs is ours:
        return ours
    return changed(ours, effect_id=theirs.effect_id, call_ids=theirs.call_ids)


def key_changed(record: Record) -> LedgerError:
    """Name the one change of an own record that is refused."""
    return LedgerError(
        f"action {about(record).id}: its key was to change within generation "
        f"{record.generation}; a new key needs a new generation, so nothing was stored"
    )


def resolved(
    record: Record, answer: Answer, *, now: Now, value: bytes | None, final: bool
) -> Record:
    """Return the record with an operator's answer, or raise `LedgerError` where it cannot be."""
    action = about(record).id
    if answer != "happened" and record.state == "open" and record.lease >= now.earliest:
        raise HeldError(
            f"action {action} is held by a call that runs: wait until its lease ends, in "
            f"{max(record.lease - now.earliest, 0.0):.0f} s, then answer again"
        )
    match answer, record.state:
        case "happened", "open" | "not_executed" | "abandoned":
            settled = changed(record, state="done", value=value, settled_at=now.latest)
            return changed(settled, answer=None, asked_at=now.earliest)
        case "did_not_happen", "open":
            return changed(record, answer=answer, asked_at=inf if final else now.earliest)
        case "again", "open" | "done":
            return changed(record, answer=answer, asked_at=now.earliest)
        case "abandon", "open":
            return changed(record, state="abandoned", settled_at=now.latest)
        case _:
            state, said = record.state.replace("_", " "), answer.replace("_", " ")
            raise LedgerError(
                f"action {action} is {state}: {said!r} cannot be answered, nothing was changed"
            )


def mark(record: Record) -> str:
    """Return what tells one standing of a record from another, in eight hexadecimal digits."""
    return hashlib.sha256(repr(_standing(record)).encode()).hexdigest()[:8]


def _standing(record: Record) -> tuple[object, ...]:
    """Return what an answer is given to.

    Who holds the record meanwhile makes no difference, nor that somebody was asked in vain: that is
    noted of what is open, while a time in what is done is that of an answer, used up or not.
    """
    is_vain = record.state == "open" and record.answer is None
    answered = None if is_vain else record.asked_at
    return record.state, record.generation, record.sends, record.answer, answered


def check_seen(stored: Record, seen: Record | None) -> None:
    """Raise `ChangedError` for a record that is no more as it was seen. None: nobody has looked."""
    if seen is not None and _standing(stored) != _standing(seen):
        raise ChangedError(
            f"action {about(stored).id} has changed since the answer was asked for: look at it "
            "again; nothing was stored"
        )


def unknown(scope: str, action: str) -> LedgerError:
    """Say that there is no such record."""
    return LedgerError(f"no action {action!r} in scope {scope!r}: list what is recorded")


def check(record: Record) -> None:
    """Raise `TypeError` for a record whose value is not in its stored form: bytes, or None."""
    if record.value is not None and not isinstance(record.value, bytes):
        kind = type(record.value).__name__
        msg = f"a record's value must be in its stored form, bytes or None, not {kind}"
        raise TypeError(msg)


def recorded(record: Record) -> float:
    """Return the latest time that a record which ended bears."""
    times = record.claimed, record.lease, record.settled_at, record.ended, record.read_at
    return max(time for time in times if time is not None)


def is_stale(record: Record, now: Now, keep_result: float) -> bool:
    """Whether a result is kept for nobody: it is that old, and nobody still waits for it."""
    wanted = record.state == "open" or (record.state == "done" and not record.delivered)
    return (
        record.value is not None and not wanted and now.earliest - record.settled_at > keep_result
    )


def one_of(key: str | None, effect_id: str | None) -> tuple[str, str]:
    """Return what to search by. Raises `TypeError` for both or neither."""
    match key, effect_id:
        case str(), None:
            return "key", key
        case None, str():
            return "effect", effect_id
        case _:
            msg = "find by a key or by an effect's id: give exactly one of them"
            raise TypeError(msg)
