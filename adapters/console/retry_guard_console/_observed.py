"""`retry-guard ledger list --observed`: what a guard would have done, had it not only looked on."""

import argparse
import json
from collections import Counter
from typing import Any

from retry_guard_console._shared import WELL, moment, refuse, show, shown, table
from retry_guard_ledgers import beside, ledger_url

_SENT = ("send", "read", "reissue", "ask")
"""What it would have done with a call that it sent as it came."""
_FIELDS = ("server", "scope", "tool", "turn", "would", "reason")


def list_observed(given: argparse.Namespace) -> int:
    """Print what proxies kept beside the ledger, the oldest first; return the exit code.

    Raises `KeptError` for a file that cannot be read.
    """
    from retry_guard_mcp_proxy import observed

    if given.state is not None:
        return refuse("ledger list", "--state is of what is recorded: leave it out")
    folder = beside(given.ledger)
    if folder is None:
        where = ledger_url(given.ledger)
        return refuse("ledger list", f"{shown(where)} is on no disk: nothing is kept beside it")
    seen = [one for one in observed(folder) if given.scope in (None, one.get("scope"))]
    if given.json:
        print(json.dumps(seen))
    else:
        _print(seen)
    return WELL


def _print(seen: list[dict[str, Any]]) -> None:
    rows = table("at (UTC)", "server", "scope", "tool", "turn", "would", "why")
    for one in seen:
        rows.add_row(moment(one["at"]), *(shown(one.get(name) or "") for name in _FIELDS))
    show(rows)
    counts = Counter(str(one.get("would")) for one in seen)
    told = ", ".join(f"{count} {shown(would)}" for would, count in sorted(counts.items()))
    print(f"{len(seen)} observed{f': {told}' if told else ''}")
    if seen:
        named = [(one.get("server"), one.get("action")) for one in seen if one.get("action")]
        actions = {json.dumps(one) for one in named}  # what somebody else wrote may be anything
        sent = sum(counts[would] for would in _SENT)
        kept = len(seen) - sent
        print(
            f"{len(seen)} calls of {len(actions)} actions: a guard would have sent {sent} of them, "
            f"and answered {kept} without sending"
        )
