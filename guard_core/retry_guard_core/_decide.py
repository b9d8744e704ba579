"""The decision: a write's outcome is unknown, so what may be done next?"""

from retry_guard_core._model import Now, Policy, Record, Terms, Verdict, inf


def decide(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
    """Return the first row of this table that applies. Pure and total.

    | row | when | does |
    |---|---|---|
    | `other_tool` | another tool that writes the same resource began it | **escalate** |
    | `some` | of a batch, what was absent has become an action of its own; no operator answered \
      `again` | **split**: carry that one on, and end as it does |
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
    | `fresh_sends_spent` | as in the next row, but no fresh sends are left | **escalate** |
    | `absent` | the read began after last send + bound + lag, of a complete list that effects \
      never leave, and shows nothing, or some items of a batch | **send** what is absent, new \
      key; of a batch, as an action of its own |
    | `unread` | not read since last send + lag | **read back**, at last send + lag |
    | `too_early` | the read shows nothing (or some of a batch), but began before last send + \
      bound + lag | **read back** again then |
    | `too_late` | the read fails, or shows nothing (or some) where bound or lag is unknown, the \
      list may be cut, or effects leave it; and it was the last look | **escalate** |
    | `not_conclusive` | the same, but it was not the last look | **read back** again, ever later |
    | `last_look` | a row above would re-issue or read back past the deadline, though a \
      read-back is declared, and none of its reads began just before the deadline or later | \
      **read back** just before the deadline: what shows then settles it, and else that row counts |
    | `noted` | a row above but the first would escalate, and an operator answered \
      `did_not_happen` before last send + bound | **escalate** again then |
    """
    seen, note, read_at = record.seen, record.answer == "did_not_happen", record.read_at or 0.0
    end = record.lease if record.ended is None else record.ended
    asked = inf if record.asked_at == inf else min(record.asked_at or 0, now.earliest)
    quiet, left = now.earliest - end, policy.deadline - (now.latest - record.claimed)
    looked, missed = read_at - end, seen in ("absent", "some", "failed") and read_at <= now.earliest
    last = missed and quiet - looked <= policy.poll - left
    pause = max(min(policy.backoff * 2 ** min(record.tries, 99), policy.backoff_limit) - quiet, 0)
    own = 300.0 if record.claimed - record.sends[0] <= policy.poll else -inf
    kept, margin = terms.retention, terms.bound + policy.send_timeout + policy.skew
    window = own if kept is None else (kept - margin if margin < inf else kept / 2)
    in_time = 0 <= now.latest - record.sends[0] <= window - pause
    again = (seen is None or (last and pause > left)) and record.tries < policy.attempts
    decisive = terms.bound + terms.lag if terms.conclusive and seen != "failed" else inf
    proven = missed and looked >= decisive
    cleared = record.answer == "again" or (note and asked - end >= terms.bound)
    later = min(max(looked, policy.backoff), policy.backoff_limit) - (quiet - looked)
    rows = (
        (record.tool != terms.tool, Verdict("other_tool", "ask")),
        (seen == "split" and record.answer != "again", Verdict("some", "split")),
        (cleared, Verdict("cleared", "send")),
        (again and terms.keyed and record.key and in_time, Verdict("keyed", "reissue", pause)),
        (again and terms.effect == "idempotent", Verdict("harmless", "reissue", pause)),
        (seen in ("several", "foreign", "unbelieved", "ignored"), Verdict("unclear", "ask")),
        (not terms.read_back, Verdict("nothing_can_tell", "ask")),
        (seen == "ours", Verdict("present", "adopt")),
        (proven and record.fresh >= policy.fresh_sends, Verdict("fresh_sends_spent", "ask")),
        (proven, Verdict("absent", "send")),
        (not missed or looked < terms.lag, Verdict("unread", "read", terms.lag - quiet)),
        (decisive < inf, Verdict("too_early", "read", decisive - quiet)),
        (last, Verdict("too_late", "ask")),
    )
    verdict = next((row for hit, row in rows if hit), Verdict("not_conclusive", "read", later))
    late = max(verdict.wait, 0) > left and verdict.act in ("reissue", "read")
    if late and terms.read_back and not last:
        return Verdict("last_look", "read", left - policy.poll)
    if note and terms.bound < inf and verdict.act == "ask" and verdict.row != "other_tool":
        return Verdict("noted", "ask", terms.bound - quiet, terms.bound - quiet > max(left, 0))
    told = record.asked_at is not None or (left <= 0 and record.sends[0] > record.claimed)
    return verdict._replace(stop=late or (verdict.act == "ask" and told))
