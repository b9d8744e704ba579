"""What `retry-guard contracts list`, `show` and `check` do."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._contracts_known import known
from retry_guard_console._contracts_server import Options, named
from retry_guard_console._doctor import contract_findings
from retry_guard_console._shared import TO_MEND, WELL, refuse, show, shown, table
from retry_guard_contracts import load_contracts
from retry_guard_ledgers import Finding

if TYPE_CHECKING:
    from retry_guard_mcp_proxy import Settings

__all__ = ["Options", "check", "check_options", "list_all", "show_one"]


def list_all(given: argparse.Namespace) -> int:
    """Print what is known of each tool, and who says so."""
    found = known(given.contracts, given.ledger)
    if given.json:
        print(json.dumps([asdict(one) for one in found]))
        return WELL
    rows = table("tool", "server", "effect", "settled by", "who says so")
    for one in found:
        effect = str(one.fields.get("effect", "write")) if len(one.fields) > 1 or one.who else ""
        cells = (one.tool, one.server, "" if one.who == "nobody" else effect, one.settled_by())
        rows.add_row(*map(shown, (*cells, one.who)))
    show(rows)
    print(f"{len({(one.server, one.tool) for one in found})} tools")
    return WELL


def show_one(given: argparse.Namespace) -> int:
    """Print everything that is known of one tool."""
    found = [one for one in known(given.contracts, given.ledger) if one.tool == given.tool]
    if not found:
        why = "nothing is known of it; name a file with --contracts, or let a proxy see its server"
        return refuse("contracts show", f"{shown(given.tool)!r}: {why}")
    if given.json:
        print(json.dumps([asdict(one) for one in found]))
        return WELL
    for one in found:
        rows = table("field", "value")
        rows.add_row("who says so", shown(one.who))
        rows.add_row("server", shown(one.server))
        for name, value in one.fields.items():
            rows.add_row(shown(name), shown(value if isinstance(value, str) else json.dumps(value)))
        show(rows)
    return WELL


def check_options(parser: argparse.ArgumentParser) -> None:
    """Add what else `check` takes: nothing."""
    del parser


def check(given: argparse.Namespace) -> int:
    """Print what is wrong with a contracts file, and what does not fit the server."""
    try:
        about = named(given, check_options, None, "which contracts file")
    except ValueError as error:
        return refuse("contracts check", str(error))
    file = Path(about.word)
    findings = contract_findings(file)
    if about.server is not None:
        findings = [*findings, *_against(file, about.server)]
    rows = table("", "checked", "found")
    for finding in findings:
        rows.add_row("ok" if finding.well else "MEND", shown(finding.name), shown(finding.text))
    show(rows)
    return WELL if all(finding.well for finding in findings) else TO_MEND


def _against(file: Path, server: "Settings") -> Iterator[Finding]:
    """Say what in the file does not fit the tools that the server lists."""
    from retry_guard_mcp_proxy import look_at

    contracts, found = load_contracts(file), look_at(server)
    reads = {one.tool for one in contracts if one.effect == "read"}
    for contract in contracts:
        for misfit in found.misfits(contract, reads):
            yield Finding(contract.tool, well=False, text=misfit)
    bare = sorted(found.tools.keys() - {one.tool for one in contracts})
    text = f"{len(found.tools)} tools listed; without a contract: {', '.join(bare) or 'none'}"
    yield Finding("server", well=True, text=text)
