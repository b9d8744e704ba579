"""What the help of `retry-guard ledger` says below the options."""

EXAMPLES = """\
examples:
  retry-guard ledger list --state open
  retry-guard ledger show 3f9c
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
  retry-guard ledger export --since 2026-11-30 --out records.jsonl
"""
LIST = """\
example:
  retry-guard ledger list --state open --scope acme
  retry-guard ledger list --observed

what a guard would have done, with --observed:
  send            the same as was done
  replay, join    give the first call's result in place of a second send
  carry_on        not send it anew: an earlier equal call is unresolved, and the reason says how a
                  guard goes on with that one (read, reissue, ask)
  read            after the send, whose outcome was unknown: read back
  reissue         (likewise) send it again with the same key
  ask             (likewise) ask a person
  refuse          not send it; the reason says why
"""
SHOW = """\
example:
  retry-guard ledger show 3f9c --json
"""
RESOLVE = """\
answers:
  happened         it happened, and --result is what the tool returned: later calls get that
  did-not-happen   counts once the request can no longer run; with --final, at once
  again            repeat it once, on purpose
  abandon          given up: repeats in its turn stay refused, later turns may start anew

An answer is refused where the action has changed since it was asked for. With --mark it is refused
also where it has changed since `ledger show` showed it, with that mark. Of an action that is done,
again is taken with --mark only.

examples:
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
  retry-guard ledger resolve 3f9c again --mark 5d41402a
"""
EXPORT = """\
example:
  retry-guard ledger export --scope acme --state open
  retry-guard ledger export --tool charge --since 2026-11-30T12:00:00Z --out records.jsonl

A line has what `retry-guard ledger show --json` shows: arguments and results, and no keys.
"""
PRUNE = """\
example:
  retry-guard ledger prune --keep 3600
"""
