"""How `retry-guard ledger` finds what it is about."""

import argparse
from contextlib import closing

from retry_guard_console._reading import readable_records
from retry_guard_console._shared import shown
from retry_guard_core import Record
from retry_guard_ledgers import LedgerError, OpenedLedger, about, is_observed, open_ledger


def opened(given: argparse.Namespace) -> closing[OpenedLedger]:
    """Open the ledger that was named; none is made. Raises `LedgerError`."""
    return closing(open_ledger(given.ledger, make=False))


def listed(ledger: OpenedLedger, given: argparse.Namespace) -> tuple[list[Record], list[str]]:
    """Return the records in the scope and state that were named, and what is wrong, in lines.

    Where no scope is named, what was only observed is left out: it is nobody's to settle.
    """
    records, wrong = readable_records(ledger, given.scope, given.state)
    if given.scope is None:
        records = [record for record in records if not is_observed(record)]
    return records, wrong


def found(ledger: OpenedLedger, name: str, scope: str | None) -> Record:
    """Return the one record whose id is, or begins with, `name`. Raises `LedgerError`.

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
        raise LedgerError(f"no action begins with '{shown(name)}': see retry-guard ledger list")
    if len(matches) > 1:
        some = ", ".join(f"{about(r).id} ({about(r).scope})" for r in matches[:5])
        raise LedgerError(
            f"{len(matches)} actions begin with '{shown(name)}': {shown(some)}; give more of the "
            "id, or --scope"
        )
    return matches[0]
