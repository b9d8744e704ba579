"""What `retry-guard contracts trust` does: an operator relies on what a server states."""

import argparse
import time
from contextlib import closing
from typing import TYPE_CHECKING

from retry_guard_console._contracts_known import Known
from retry_guard_console._contracts_server import named
from retry_guard_console._contracts_withdraw import withdraw
from retry_guard_console._shared import (
    TO_MEND,
    WELL,
    add_ledger_option,
    refuse,
    show,
    shown,
    table,
)
from retry_guard_ledgers import ledger_url, open_ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retry_guard_mcp_proxy import Offer, Surveyed

_COMMAND = "contracts trust"
_WHAT = {
    "new": "trusted from now on",
    "trusted": "trusted already",
    "changed": "has changed; trusted anew",
}
_SHOWN = {**_WHAT, "new": "not trusted yet", "changed": "has changed, so it is not trusted now"}
"""What it says of an offer where nothing is changed."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `trust`."""
    parser.add_argument("--dry-run", action="store_true", help="show it, and trust nothing")
    parser.add_argument(
        "--none",
        action="store_true",
        help="trust nothing of it any more, or none of each --tool; the server is not asked",
    )
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="TOOL",
        help="trust this tool, and no other that is not named like this (default: all)",
    )
    add_ledger_option(parser)


def trust(given: argparse.Namespace) -> int:
    """Show what a server states, and keep that it is trusted; return the exit code.

    Raises `GuardError` for a server that cannot be asked, and files that cannot be written.
    """
    try:
        about = named(given, options, given.ledger, "a name for the server")
    except ValueError as error:
        return refuse(_COMMAND, str(error))
    if about.server is None:
        return refuse(_COMMAND, "say which server: -- CMD…, or --url URL")
    if given.none:
        return withdraw(given, about.server)
    with closing(open_ledger(given.ledger)):
        pass  # what is trusted stands beside it
    from retry_guard_mcp_proxy import look_at

    found = look_at(about.server)
    unknown = sorted(set(given.tool) - {offer.tool for offer in found.offers})
    if unknown:
        return refuse(_COMMAND, f"its server states no contract of {shown(', '.join(unknown))}")
    if found.kept is None:
        where = shown(ledger_url(given.ledger))
        return refuse(_COMMAND, f"{where} is on no disk, so trust could not be kept")
    return _settle(given, about.word, found)


def _settle(given: argparse.Namespace, name: str, found: "Surveyed") -> int:
    wanted = [one for one in found.offers if not given.tool or one.tool in given.tool]
    good = [one for one in wanted if not one.problems]
    former = () if found.kept is None else found.kept.trusted().tools
    dropped = () if given.dry_run else sorted({*former} - {one.tool for one in wanted})
    _print(wanted, dropped, _SHOWN if given.dry_run else _WHAT)
    print(f"{len(found.tools)} tools, {len(found.offers)} with a contract that the server states")
    if given.dry_run:
        print("nothing was changed (--dry-run)")
    elif found.kept is not None:
        pins = {one.tool: {"mark": one.mark, "contract": one.fields} for one in good}
        path = found.kept.trust(name, pins, time.time())
        print(f"{len(pins)} trusted: {shown(path)}")
    return WELL if wanted and len(good) == len(wanted) else TO_MEND


def _print(offers: "list[Offer]", dropped: "Sequence[str]", what: "Mapping[str, str]") -> None:
    rows = table("tool", "effect", "settled by", "")
    for one in offers:
        known = Known(one.tool, "", one.fields, "stated")
        effect = str(one.fields.get("effect", "write"))
        wrong = "; ".join(one.problems)
        note = f"NOT trusted: {wrong}" if wrong else what[one.standing]
        rows.add_row(*map(shown, (one.tool, effect, known.settled_by(), note)))
    for tool in dropped:
        rows.add_row(shown(tool), "", "", "trusted no more")
    show(rows)
