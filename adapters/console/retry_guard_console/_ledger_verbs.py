"""What `retry-guard ledger` does."""

import argparse
import json
import math
from contextlib import closing
from typing import get_args

from retry_guard_console._facts import facts, for_people, plain
from retry_guard_console._observed import list_observed
from retry_guard_console._reading import STATES, readable_records
from retry_guard_console._shared import USAGE, WELL, moment, refuse, show, shown, table
from retry_guard_core import Record
from retry_guard_ledgers import Answer, LedgerError, OpenedLedger, about, is_observed, open_ledger

__all__ = ["ANSWERS", "STATES", "list_all", "prune", "resolve", "show_one"]

ANSWERS: dict[str, Answer] = {name.replace("_", "-"): name for name in get_args(Answer)}


def _opened(given: argparse.Namespace) -> closing[OpenedLedger]:
    return closing(open_ledger(given.ledger, make=False))


def list_all(given: argparse.Namespace) -> int:
    """Print what is recorded, or what was observed."""
    if given.observed:
        return list_observed(given)
    with _opened(given) as ledger:
        records, wrong = readable_records(ledger, given.scope, given.state)
    if given.scope is None:
        records = [record for record in records if not is_observed(record)]
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
        action, last = about(record), max(record.sends, default=record.claimed)
        cells = (action.id, record.state, action.scope, record.tool, record.turn or "")
        rows.add_row(*map(shown, cells), moment(last), record.seen or "", record.answer or "")
    show(rows)
    print(f"{len(records)} recorded, {sum(r.state == 'open' for r in records)} unresolved")


def show_one(given: argparse.Namespace) -> int:
    """Print everything that is recorded of one action."""
    with _opened(given) as ledger:
        record = _found(ledger, given.id, given.scope)
    known = facts(record, show_key=given.show_key)
    if given.json:
        print(json.dumps(known, default=plain))
        return WELL
    rows = table("fact", "value")
    for name, value in for_people(known).items():
        rows.add_row(name, shown(value))
    show(rows)
    return WELL


def resolve(given: argparse.Namespace) -> int:
    """Store the operator's answer and print what the record is then."""
    answer = ANSWERS[given.answer]
    if given.result is not None and answer != "happened":
        return refuse("ledger resolve", "--result goes with happened only")
    if given.final and answer != "did_not_happen":
        return refuse("ledger resolve", "--final goes with did-not-happen only")
    try:
        value = None if given.result is None else _stored(given.result)
    except (ValueError, RecursionError) as error:
        return refuse("ledger resolve", f"--result: {error}; give the tool's result as JSON")
    with _opened(given) as ledger:
        known = _found(ledger, given.id, given.scope)
        action, now = about(known), ledger.now()
        record = ledger.resolve(
            action.scope, action.id, answer, now=now, value=value, final=given.final, seen=known
        )
    print(f"{shown(action.id)} is {record.state}, answer noted: {given.answer}")
    if answer == "did_not_happen" and not given.final:
        print(
            "It counts once the tool's in-flight bound has passed since the last send; where its\n"
            "contract states none, only --final counts: that the request can no longer run."
        )
    return WELL


def prune(given: argparse.Namespace) -> int:
    """Drop old results and print how many."""
    if not 0 <= given.keep < math.inf:
        return refuse("ledger prune", f"--keep {given.keep:g}: give seconds, 0 or more")
    with _opened(given) as ledger:
        print(f"{ledger.prune(ledger.now(), given.keep)} results dropped")
    return WELL


def _stored(text: str) -> bytes:
    """Return a result in its stored form.

    Raises `ValueError` for what is no JSON or cannot be kept, `RecursionError` if nested too deep.
    """
    from retry_guard_contracts import encode_result

    stored = encode_result(json.loads(text, parse_constant=_number, parse_float=_number))
    if stored is None:
        msg = "it cannot be kept: it is too large, nested too deep, or its text is no Unicode"
        raise ValueError(msg)
    return stored


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"{text[:20]} is no JSON number that can be kept"
        raise ValueError(msg)
    return number


def _found(ledger: OpenedLedger, name: str, scope: str | None) -> Record:
    """Return the one record whose id is, or begins with, `name`.

    Where not every record can be read, only the whole id is clear.
    """
    exact = None if scope is None else ledger.get(scope, name)
    if exact is not None:
        return exact
    records, wrong = readable_records(ledger, scope)
    matches = [record for record in records if about(record).id.startswith(name)]
    same = [record for record in matches if about(record).id == name]
    if wrong and not same:
        raise LedgerError(f"{wrong[0]}; for another one give its whole id and --scope")
    matches = same or matches
    if not name or not matches:
        raise LedgerError(f"no action begins with {shown(name)!r}: see retry-guard ledger list")
    if len(matches) > 1:
        some = ", ".join(f"{about(r).id} ({about(r).scope})" for r in matches[:5])
        raise LedgerError(
            f"{len(matches)} actions begin with {shown(name)!r}: {shown(some)}; give more of the "
            "id, or --scope"
        )
    return matches[0]
