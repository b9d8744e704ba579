"""`retry-guard doctor`: is the ledger usable, what waits for an answer, what is not guarded."""

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._doctor_servers import servers
from retry_guard_console._reading import readable_records
from retry_guard_console._shared import TO_MEND, WELL, add_ledger_option, moment, show, shown, table
from retry_guard_ledgers import (
    Finding,
    LedgerError,
    LedgerURLError,
    NoLedgerError,
    OpenedLedger,
    is_observed,
    ledger_url,
    open_ledger,
)

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_EPILOG = """\
example:
  retry-guard doctor --contracts contracts.yaml

exit codes:
  0  well
  1  something to mend
  2  bad input
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "doctor",
        help="say whether the ledger is usable, and what is not guarded",
        description="Say whether the ledger can be written, what waits for an answer, which tools "
        "of the MCP servers that were seen are not guarded and, with --contracts, which writes "
        "nothing can settle. Nothing is changed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--contracts", type=Path, metavar="FILE", help="the contracts to look at")
    add_ledger_option(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print what was found; return 1 if there is something to mend."""
    found = [] if given.contracts is None else contract_findings(given.contracts)
    found = [*_ledger(given.ledger), *found, *servers(given.ledger)]
    rows = table("", "checked", "found")
    for finding in found:
        rows.add_row("ok" if finding.well else "MEND", shown(finding.name), shown(finding.text))
    print(f"ledger {shown(ledger_url(given.ledger))}")
    show(rows)
    return WELL if all(finding.well for finding in found) else TO_MEND


def _ledger(url: str | None) -> list[Finding]:
    """Look at the ledger. One that cannot be opened is a finding; a wrong address is not."""
    try:
        with closing(open_ledger(url, make=False)) as ledger:
            return [*ledger.health(), *_rows(ledger), _unresolved(ledger)]
    except NoLedgerError as error:
        return [Finding("ledger", well=True, text=str(error))]
    except LedgerURLError:
        raise
    except LedgerError as error:
        return [Finding("ledger", well=False, text=str(error))]


def _rows(ledger: OpenedLedger) -> list[Finding]:
    """Read every record."""
    records, wrong = readable_records(ledger, None)
    if wrong:
        return [Finding("records", well=False, text=text) for text in wrong]
    return [Finding("records", well=True, text=f"{len(records)}, all of them can be read")]


def _unresolved(ledger: OpenedLedger) -> Finding:
    """Count what is open and held by no call that runs."""
    now = ledger.now().earliest
    try:
        held = [record for record in ledger.list(state="open") if not is_observed(record)]
        waiting = [record for record in held if record.lease < now]
    except LedgerError as error:
        return Finding("unresolved", well=False, text=str(error))
    if not waiting:
        return Finding("unresolved", well=True, text="none")
    since = moment(min(max(r.sends, default=r.claimed) for r in waiting))
    return Finding(
        "unresolved",
        well=False,
        text=f"{len(waiting)}, the oldest sent at {since} UTC: see retry-guard ledger list",
    )


def contract_findings(file: Path) -> list[Finding]:
    """Say of every write in the contracts whether anything can settle it."""
    from retry_guard_contracts import load_contracts

    contracts = load_contracts(file)
    bare = [c for c in contracts if c.effect == "write" and not (c.key or c.read_back)]
    return [
        Finding("contracts", well=True, text=f"{len(contracts)} tools in {file}"),
        *(
            Finding(
                c.tool,
                well=False,
                text="a write with neither key nor read-back: where its outcome is unknown, only "
                "a person can settle it",
            )
            for c in bare
        ),
    ]
