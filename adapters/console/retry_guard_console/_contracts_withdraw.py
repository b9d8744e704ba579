"""What `retry-guard contracts trust --none` does: an operator takes trust away."""

import argparse
from typing import TYPE_CHECKING

from retry_guard_console._shared import WELL, refuse, show, shown, table
from retry_guard_ledgers import ledger_url

if TYPE_CHECKING:
    from retry_guard_mcp_proxy import Settings

_COMMAND = "contracts trust"


def withdraw(given: argparse.Namespace, server: "Settings") -> int:
    """Trust a server no more, or none of the tools that are named; return the exit code.

    Neither the server nor the ledger is asked: either may be gone, or broken. Raises `GuardError`
    for files that cannot be read or written.
    """
    from retry_guard_mcp_proxy import kept_beside

    kept = kept_beside(server)
    if kept is None:
        where = shown(ledger_url(given.ledger))
        return refuse(_COMMAND, f"{where} is on no disk, so no trust is kept")
    if kept.stamp() is None:
        where = shown(ledger_url(given.ledger))
        why = "give the very same command or URL, and the same ledger"
        return refuse(_COMMAND, f"nothing of this server was ever trusted beside {where}: {why}")
    sheet = kept.trusted()
    trusted = {*sheet.tools, *sheet.odd}
    unknown = sorted(set(given.tool) - trusted)
    if unknown:
        return refuse(_COMMAND, f"not trusted in any case: {shown(', '.join(unknown))}")
    gone = set(given.tool) or trusted
    left = {tool: pin for tool, pin in sheet.tools.items() if tool not in gone}
    _print(sorted(gone))
    if given.dry_run:
        print("nothing was changed (--dry-run)")
        return WELL
    path = kept.trust(sheet.name, left, sheet.at)  # since when: it is not looked at anew
    print(f"{len(left)} trusted: {shown(path)}")
    return WELL


def _print(gone: list[str]) -> None:
    rows = table("tool", "")
    for tool in gone:
        rows.add_row(shown(tool), "trusted no more")
    show(rows)
