"""One guarded call, as a generator: it says what to do next and is told what came of it.

It performs nothing itself: a driver carries out each `Step` and sends back a `Reply`.
The driver may throw any exception into it, and never closes one that has started.
"""

from dataclasses import replace

from retry_guard_core._decide import decide as decide  # noqa: PLC0414 - public beside `guarded`
from retry_guard_core._model import End, Now, Policy, Record, Run, Step, Terms


def guarded(call: Record, terms: Terms, policy: Policy) -> Run:
    """Guard one call. `call` is the record that a first claim inserts, marked as sent."""
    latest, met, end = None, False, End("unknown")
    while end.kind == "unknown":
        now, known, _, _ = yield Step("claim", call, latest)
        if known.state != "open":
            age = now.earliest - known.settled_at
            near = known.turn == call.turn if call.turn else age < policy.turn_window
            end, latest = _recall(call, known, terms, near, met, age), known
            if near:
                call = replace(call, generation=known.generation + 1, fresh=known.fresh)
        elif known.owner == call.owner:
            end, met = (yield from _pursue(known, now, terms, policy, end.note)), True
        elif now.latest - call.claimed >= policy.deadline:
            end = End("unresolved", note="still_running", not_before=known.lease)
        else:
            met = True
            yield Step("wait", known, policy.poll)
    return end


def _recall(call: Record, record: Record, terms: Terms, near: bool, met: bool, age: float) -> End:
    """What an action that has ended says to this call; `unknown`: it is a new action.

    `near`: it belongs to the same turn. `met`: this call saw it open.
    """
    unsure = terms.repeat if age < terms.repeat_window else "allow"
    if record.answer == "again" or (not met and terms.effect == "idempotent"):
        return End("unknown")
    if record.state == "not_executed":
        return End("not_executed" if met else "unknown", record.value)
    if record.state == "abandoned":
        return End("unresolved" if near else "unknown", note="abandoned")
    if record.delivered and not near and not met:
        return End("unresolved" if unsure == "escalate" else "unknown", note=f"repeat_{unsure}")
    if (record.tool, record.content) != (call.tool, call.content):
        return End("unresolved", note="differs")
    return End("done", record.value, note="" if near else "earlier_turn")


def _pursue(record: Record, now: Now, terms: Terms, policy: Policy, note: str) -> Run:
    """Carry a held record to its end; `unknown`: it is no longer held, so back to the claim."""
    why, at = "", None
    try:
        while record.state == "open" and not why:
            if record.ended is None:
                now, record, _, end = yield Step("send", record)
                record = _absorb(record, end, terms, now.latest)
            elif (due := decide(terms, record, now, policy)).stop:
                why, at = due.row, now.latest + due.wait if due.wait or due.act != "ask" else None
            elif due.wait > 0:
                now, record, _, _ = yield Step("wait", record, due.wait)
            elif due.act in ("read", "ask", "split"):
                now, record, settled, end = yield Step(due.act, record, due.row)
                why, at = "" if settled else end.note or due.row, end.not_before
            elif due.act == "adopt":
                record = replace(record, state="done")
            else:
                now, record, held, _ = yield Step("hold", _again(record, due.row, now))
                if not held:
                    return End("unknown", note=note)
        _, _, saved, _ = yield Step("save", record)
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            yield Step("save", record)
        raise
    if record.state == "done":
        return End("done", record.value, note if saved else "not_recorded")
    if record.state == "not_executed" or not saved:
        return End("not_executed" if saved else "unknown", record.value, note)
    return End("unresolved", note=why or record.state, not_before=at)


def _again(record: Record, row: str, now: Now) -> Record:
    """The record as it is stored before another send; all but two rows keep the key.

    One whose rest becomes an action of its own is never sent again itself: it may be on its way.
    """
    if row == "absent" and record.seen == "some":
        return replace(record, seen="split")
    record = replace(record, tries=record.tries + 1, seen=None, ended=None)
    if row in ("cleared", "absent"):
        sends = record.sends if record.answer == "again" else ()
        record = replace(record, key=None, generation=record.generation + 1, sends=sends, tries=0)
        record = replace(record, fresh=record.fresh + (row == "absent"), answer=None, asked_at=None)
    return replace(record, sends=(*record.sends, now.earliest))


def _absorb(record: Record, end: End, terms: Terms, ended: float) -> Record:
    """What the end of a send proves about the whole action."""
    others, stored = record.sends[:-1], terms.errors_stored and not record.generation and record.key
    if end.kind == "done" and (end.note != "ignored" or not others):
        return replace(record, state="done", value=end.value, ended=ended)
    if end.kind == "not_executed" and (not others or (end.note == "rejected" and stored)):
        return replace(record, state="not_executed", value=end.value, ended=ended)
    seen = {"ignored": "ignored", "exists": "reported"}.get(end.note)
    sends = others if end.kind == "not_executed" else record.sends
    tries = max(record.tries - (end.note == "in_progress"), 0)
    return replace(record, sends=sends, tries=tries, seen=seen, value=end.value, ended=ended)
