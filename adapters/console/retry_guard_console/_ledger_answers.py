"""What `retry-guard ledger resolve` does: an operator says what became of an action."""

import argparse
import json
import math
from typing import get_args

from retry_guard_console._facts import last_sent
from retry_guard_console._ledger_found import found, opened
from retry_guard_console._shared import WELL, moment, refuse, shown
from retry_guard_core import Record
from retry_guard_ledgers import Answer, LedgerError, about, mark

ANSWERS: dict[str, Answer] = {name.replace("_", "-"): name for name in get_args(Answer)}


def resolve(given: argparse.Namespace) -> int:
    """Store the operator's answer and print what the record is then."""
    answer = ANSWERS[given.answer]
    if given.result is not None and answer != "happened":
        return refuse("ledger resolve", "--result goes with happened only")
    if given.final and answer != "did_not_happen":
        return refuse("ledger resolve", "--final goes with did-not-happen only")
    try:
        value = None if given.result is None else _stored(given.result)
    except ValueError as error:
        return refuse("ledger resolve", f"--result: {error}; give the tool's result as JSON")
    with opened(given) as ledger:
        known = found(ledger, given.id, given.scope)
        _hold(known, answer, given.mark)
        action, now = about(known), ledger.now()
        record = ledger.resolve(
            action.scope, action.id, answer, now=now, value=value, final=given.final, seen=known
        )
    what = f"{action.id} ({known.tool}, last sent at {moment(last_sent(known))} UTC)"
    print(f"{shown(what)} is {record.state}, answer noted: {given.answer}")
    if answer == "did_not_happen" and not given.final:
        print(
            "It counts once the tool's in-flight bound has passed since the last send; where its\n"
            "contract states none, only --final counts: that the request can no longer run."
        )
    return WELL


def _hold(known: Record, answer: Answer, seen: str | None) -> None:
    """Raise `LedgerError` where the operator may have seen another state than there is now.

    What was looked at stands in the output of an earlier command. So an answer that has something
    sent is taken of what is unresolved, and else only where it is said what was seen.
    """
    action, state = about(known).id, known.state.replace("_", " ")
    look = f"look at it with retry-guard ledger show {action}"
    if seen is not None and seen != mark(known):
        raise LedgerError(
            f"action {action} has changed since it bore the mark {seen}, and is {state} now; "
            f"nothing was stored: {look}"
        )
    if seen is None and answer == "again" and known.state == "done":
        raise LedgerError(
            f"action {action} is done since {moment(known.settled_at)} UTC, and again would make "
            f"it happen once more; nothing was stored: {look}, and where that is meant say --mark "
            "with the mark that it shows"
        )


def _stored(text: str) -> bytes:
    """Return a result in its stored form. Raises `ValueError` for what is no JSON, or too much."""
    from retry_guard_contracts import encode_result

    try:
        value = json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_whole)
        stored = encode_result(value)
    except json.JSONDecodeError as error:
        where = f"from character {error.pos + 1} on" if text.strip() else "since it is empty"
        raise ValueError(f"it is no JSON {where}") from None
    except RecursionError:
        raise ValueError("it is nested too deep to be kept") from None
    if stored is None:
        msg = "it cannot be kept: it is too large, nested too deep, or its text is no Unicode"
        raise ValueError(msg)
    return stored


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no JSON number that can be kept")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a number of {len(text)} digits is too long to be kept") from None
