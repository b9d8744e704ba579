"""The decision table once more, written from its description and not from the code."""

from math import inf

from retry_guard_core import Now, Policy, Record, Terms

Expected = tuple[str, str, float, bool]
Row = tuple[str, str, float]
UNCLEAR = ("several", "foreign", "unbelieved", "ignored")
MISSED = ("absent", "some", "failed")


def last_end(record: Record) -> float:
    """When the last send ended; if it never did, when its holder's lease ran out."""
    return record.lease if record.ended is None else record.ended


def heard(time: float, now: Now) -> float:
    """A time as it may be believed: what lies in the future has not been reached yet."""
    return time if time == inf else min(time, now.earliest)


def operator_sends(terms: Terms, record: Record, now: Now) -> bool:
    """`again`; or `did_not_happen`, for good or given past last send + bound."""
    match record.answer:
        case None:
            return False
        case "again":
            return True
        case "did_not_happen":
            given = -inf if record.asked_at is None else heard(record.asked_at, now)
            return given == inf or given >= last_end(record) + terms.bound


def last_look(record: Record, now: Now) -> float | None:
    """When the last look since the last send began, if there was one, and not in the future."""
    if record.seen not in MISSED or record.read_at is None or record.read_at > now.earliest:
        return None
    return record.read_at


def absence_proven(terms: Terms, record: Record, now: Now) -> bool:
    """A whole, permanent list, looked at past last send + bound + lag, that shows nothing.

    Or not all items of a batch.
    """
    began = last_look(record, now)
    if began is None or record.seen == "failed" or not terms.conclusive or terms.bound == inf:
        return False
    return began >= last_end(record) + terms.bound + terms.lag


def looked_at_last(record: Record, now: Now, policy: Policy) -> bool:
    """Whether that look began just before the deadline, or later."""
    began, last = last_look(record, now), record.claimed + policy.deadline - policy.poll
    return began is not None and began >= last - (now.latest - now.earliest)


def next_try(record: Record, policy: Policy, now: Now) -> float:
    """How long until the pause after the last send is over."""
    pause = policy.backoff
    for _ in range(min(record.tries, 20)):
        pause = min(2 * pause, policy.backoff_limit)
    return max(last_end(record) + pause - now.earliest, 0)


def key_is_known(terms: Terms, record: Record, now: Now, policy: Policy) -> bool:
    """Whether the server surely remembers the key until a re-issue has ended."""
    first = record.sends[0]
    if not terms.keyed or record.key is None or now.latest < first:
        return False
    begin = now.latest + next_try(record, policy, now)
    if terms.retention is None:
        return record.claimed <= first and begin <= first + 300
    if terms.bound == inf:
        return begin <= first + terms.retention / 2
    end = begin + terms.bound + policy.send_timeout + policy.skew
    return end <= first + terms.retention


def expected(terms: Terms, record: Record, now: Now, policy: Policy) -> Expected:
    """Row, act and wait, and whether the call ends there."""
    row, act, wait = first_row(terms, record, now, policy)
    left = record.claimed + policy.deadline - now.latest
    late = act in ("reissue", "read") and max(wait, 0) > left
    if late and terms.read_back and not looked_at_last(record, now, policy):
        return "last_look", "read", max(left - policy.poll, 0), False
    noted = record.answer == "did_not_happen" and terms.bound < inf
    if act == "ask" and noted and row != "other_tool":
        wait = max(last_end(record) + terms.bound - now.earliest, 0)
        return "noted", "ask", wait, wait > 0 and wait > left
    asked = act == "ask" and record.asked_at is not None
    return row, act, max(wait, 0), late or asked


def first_row(terms: Terms, record: Record, now: Now, policy: Policy) -> Row:
    if record.tool != terms.tool:
        return "other_tool", "ask", 0
    if record.seen == "split" and record.answer != "again":
        return "some", "split", 0
    if operator_sends(terms, record, now):
        return "cleared", "send", 0
    pause = next_try(record, policy, now)
    if may_try_again(record, pause, now, policy):
        if key_is_known(terms, record, now, policy):
            return "keyed", "reissue", pause
        if terms.effect == "idempotent":
            return "harmless", "reissue", pause
    if record.seen in UNCLEAR:
        return "unclear", "ask", 0
    if not terms.read_back:
        return "nothing_can_tell", "ask", 0
    return by_reading(terms, record, now, policy)


def may_try_again(record: Record, pause: float, now: Now, policy: Policy) -> bool:
    """Nothing was looked at since the last send, or only because this would have been too late."""
    if record.tries >= policy.attempts:
        return False
    too_late = pause > record.claimed + policy.deadline - now.latest
    return record.seen is None or (too_late and looked_at_last(record, now, policy))


def by_reading(terms: Terms, record: Record, now: Now, policy: Policy) -> Row:
    end, began = last_end(record), last_look(record, now)
    if record.seen == "ours":
        return "present", "adopt", 0
    if absence_proven(terms, record, now):
        left = record.fresh < policy.fresh_sends
        return ("absent", "send", 0) if left else ("fresh_sends_spent", "ask", 0)
    if began is None or began < end + terms.lag:
        return "unread", "read", end + terms.lag - now.earliest
    if record.seen != "failed" and terms.conclusive and terms.bound < inf:
        return "too_early", "read", end + terms.bound + terms.lag - now.earliest
    if looked_at_last(record, now, policy):
        return "too_late", "ask", 0
    interval = min(max(began - end, policy.backoff), policy.backoff_limit)
    return "not_conclusive", "read", began + interval - now.earliest
