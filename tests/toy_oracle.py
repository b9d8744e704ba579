"""The decision table once more, written from its description and not from the code."""

from math import inf

from retry_guard_core import Now, Policy, Record, Terms

Expected = tuple[str, str, float]
UNCLEAR = ("several", "foreign", "unbelieved", "ignored")


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


def absence_proven(terms: Terms, record: Record, now: Now) -> bool:
    """A whole, permanent list, looked at past last send + bound + lag, that shows nothing."""
    if record.seen != "absent" or record.read_at is None or not terms.conclusive:
        return False
    if terms.bound == inf:
        return False
    return heard(record.read_at, now) >= last_end(record) + terms.bound + terms.lag


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
    """Row, act and wait, but for the note that is asked about again."""
    row, act, wait = without_note(terms, record, now, policy)
    noted = record.answer == "did_not_happen" and terms.bound < inf
    if act == "escalate" and noted and row != "other_tool":
        return "noted", "escalate", max(last_end(record) + terms.bound - now.earliest, 0)
    return row, act, max(wait, 0)


def without_note(terms: Terms, record: Record, now: Now, policy: Policy) -> Expected:
    if record.tool != terms.tool:
        return "other_tool", "escalate", 0
    if operator_sends(terms, record, now):
        return "cleared", "send", 0
    if record.seen is None and record.tries < policy.attempts:
        if key_is_known(terms, record, now, policy):
            return "keyed", "reissue", next_try(record, policy, now)
        if terms.effect == "idempotent":
            return "harmless", "reissue", next_try(record, policy, now)
    if record.seen in UNCLEAR:
        return "unclear", "escalate", 0
    if not terms.read_back:
        return "nothing_can_tell", "escalate", 0
    return by_reading(terms, record, now, policy)


def by_reading(terms: Terms, record: Record, now: Now, policy: Policy) -> Expected:
    end = last_end(record)
    if record.seen == "ours":
        return "present", "adopt", 0
    if absence_proven(terms, record, now):
        left = record.fresh < policy.fresh_sends
        return ("absent", "send", 0) if left else ("fresh_sends_spent", "escalate", 0)
    if record.seen not in ("absent", "failed"):
        return "unread", "read", end + terms.lag - now.earliest
    if record.seen == "absent" and terms.conclusive and terms.bound < inf:
        return "too_early", "read", end + terms.bound + terms.lag - now.earliest
    read_at = now.earliest if record.read_at is None else record.read_at
    interval = min(max(read_at - end, policy.backoff), policy.backoff_limit)
    until = read_at + interval - now.earliest
    if until <= record.claimed + policy.deadline - now.latest:
        return "not_conclusive", "read", until
    return "too_late", "escalate", 0
