"""The decision: a write's outcome is unknown, so what may be done next?"""

from typing import Literal, NamedTuple

from retry_guard_core._model import Now, Policy, Record, Terms, inf


class Verdict(NamedTuple):
    """Which row of the table applies, what it does, and in how many seconds."""

    row: str
    act: Literal["reissue", "send", "read", "adopt", "escalate"]
    wait: float = 0.0


def decide(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
    """Return the first row of this table that applies. Pure and total.

    | row | when | does |
    |---|---|---|
    | `other_tool` | another tool that writes the same resource began it | **escalate** |
    | `cleared` | an operator answered `again`, or `did_not_happen` past last send + bound (with \
      `--final`: at once) | **send**, new key |
    | `keyed` | the key was sent from attempt 1, attempts are left, and the re-issue ends while \
      the server remembers the key: retention less bound, send time-out and skew; bound unknown: \
      half the retention; retention unknown: 300 s, and only in the call that sent first | \
      **re-issue**, same key, after a pause |
    | `harmless` | `effect: idempotent`, attempts are left, no newer write to the resource is \
      recorded | **re-issue**, after a pause |
    | `unclear` | the read shows several that could be ours, or one that another could have made, \
      or is not believed (control missing, list cut); or the server ignored the key of a re-issue \
      | **escalate** |
    | `nothing_can_tell` | no read-back is declared | **escalate** |
    | `present` | the read shows it, and it is ours | **done**, the item is the result |
    | `absent` | the read began after last send + bound + lag, of a complete list that effects \
      never leave, and shows nothing; fresh sends are left | **send**, new key |
    | `fresh_sends_spent` | the same, but no fresh sends are left | **escalate** |
    | `unread` | not read since the last send | **read back**, at last send + lag |
    | `too_early` | the read shows nothing, but began before last send + bound + lag | **read \
      back** again then |
    | `not_conclusive` | the read fails, or shows nothing where bound or lag is unknown, the list \
      may be cut, or effects leave it | **read back** again, ever later, until the deadline |
    | `too_late` | none of these | **escalate** |
    | `noted` | a row above but the first would escalate, and an operator answered \
      `did_not_happen` before last send + bound | **escalate** again then |
    """
    seen, note, read_at = record.seen, record.answer == "did_not_happen", record.read_at or 0.0
    end = record.lease if record.ended is None else record.ended
    asked = inf if record.asked_at == inf else min(record.asked_at or 0, now.earliest)
    quiet, left = now.earliest - end, policy.deadline - (now.latest - record.claimed)
    pause = max(min(policy.backoff * 2 ** min(record.tries, 99), policy.backoff_limit) - quiet, 0)
    in_time = 0 <= now.latest - record.sends[0] <= _key_window(terms, record, policy) - pause
    again = seen is None and record.tries < policy.attempts
    decisive = terms.bound + terms.lag if terms.conclusive else inf
    proven = seen == "absent" and min(read_at, now.earliest) - end >= decisive
    look = min(max(read_at - end, policy.backoff), policy.backoff_limit) - (now.earliest - read_at)
    cleared = record.answer == "again" or (note and asked - end >= terms.bound)
    rows = (
        (record.tool != terms.tool, Verdict("other_tool", "escalate")),
        (cleared, Verdict("cleared", "send")),
        (again and terms.keyed and record.key and in_time, Verdict("keyed", "reissue", pause)),
        (again and terms.effect == "idempotent", Verdict("harmless", "reissue", pause)),
        (seen in ("several", "foreign", "unbelieved", "ignored"), Verdict("unclear", "escalate")),
        (not terms.read_back, Verdict("nothing_can_tell", "escalate")),
        (seen == "ours", Verdict("present", "adopt")),
        (proven and record.fresh < policy.fresh_sends, Verdict("absent", "send")),
        (proven, Verdict("fresh_sends_spent", "escalate")),
        (seen not in ("absent", "failed"), Verdict("unread", "read", terms.lag - quiet)),
        (seen == "absent" and decisive < inf, Verdict("too_early", "read", decisive - quiet)),
        (look <= left, Verdict("not_conclusive", "read", look)),
    )
    verdict = next((row for applies, row in rows if applies), Verdict("too_late", "escalate"))
    noted = note and terms.bound < inf and verdict.act == "escalate" and verdict.row != "other_tool"
    return Verdict("noted", "escalate", terms.bound - quiet) if noted else verdict


def _key_window(terms: Terms, record: Record, policy: Policy) -> float:
    """Seconds after the first send within which a re-issue may begin."""
    if terms.retention is None:
        return 300.0 if record.claimed - record.sends[0] <= policy.poll else -inf
    margin = terms.bound + policy.send_timeout + policy.skew
    return terms.retention - margin if margin < inf else terms.retention / 2
