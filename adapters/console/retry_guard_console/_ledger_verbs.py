"""What `retry-guard ledger` does to look: `list` and `show`, and `prune`."""

import argparse
import json
import math

from retry_guard_console._facts import facts, for_people, last_sent, plain
from retry_guard_console._ledger_answers import ANSWERS, resolve
from retry_guard_console._ledger_export import export, since
from retry_guard_console._ledger_found import found, listed, opened
from retry_guard_console._observed import list_observed
from retry_guard_console._reading import STATES
from retry_guard_console._shared import USAGE, WELL, moment, refuse, show, shown, table
from retry_guard_core import Record
from retry_guard_ledgers import about

__all__ = ["ANSWERS", "STATES", "export", "list_all", "prune", "resolve", "show_one", "since"]


def list_all(given: argparse.Namespace) -> int:
    """Print what is recorded, or what was observed."""
    if given.observed:
        return list_observed(given)
    with opened(given) as ledger:
        records, wrong = listed(ledger, given)
    records.sort(key=lambda record: record.state != "open")  # the oldest stay first
    if records or not wrong:
        _print(records, as_json=given.json)
    for text in wrong:
        refuse("ledger list", text)
    return USAGE if wrong else WELL


def _print(records: list[Record], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([facts(record) for record in records], default=plain))
        return
    rows = table("id", "state", "scope", "tool", "turn", "last sent (UTC)", "seen", "answer")
    for record in records:
        action, last = about(record), moment(last_sent(record))
        cells = (action.id, record.state, action.scope, record.tool, record.turn or "")
        rows.add_row(*map(shown, cells), last, record.seen or "", record.answer or "")
    show(rows)
    print(f"{len(records)} recorded, {sum(r.state == 'open' for r in records)} unresolved")


def show_one(given: argparse.Namespace) -> int:
    """Print everything that is recorded of one action."""
    with opened(given) as ledger:
        record = found(ledger, given.id, given.scope)
    known = facts(record, show_key=given.show_key)
    if given.json:
        print(json.dumps(known, default=plain))
        return WELL
    rows = table("fact", "value")
    for name, value in for_people(known).items():
        rows.add_row(name, shown(value))
    show(rows)
    return WELL


def prune(given: argparse.Namespace) -> int:
    """Drop old results and print how many."""
    if not 0 <= given.keep < math.inf:
        return refuse("ledger prune", f"--keep {given.keep:g}: give seconds, 0 or more")
    with opened(given) as ledger:
        print(f"{ledger.prune(ledger.now(), given.keep)} results dropped")
    return WELL
