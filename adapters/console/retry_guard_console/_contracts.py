"""`retry-guard contracts`: what is known of each tool, who says so, and what of it is trusted."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console import _contracts_trust as trusting, _contracts_verbs as verbs
from retry_guard_console._mcp_url import add_options
from retry_guard_console._shared import add_ledger_option

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_EXAMPLES = """\
examples:
  retry-guard contracts list --contracts contracts.yaml
  retry-guard contracts check contracts.yaml -- npx -y pay-server
  retry-guard contracts trust pay -- npx -y pay-server
"""
_LIST = """\
who says so:
  a file             the operator, with --contracts
  NAME, trusted      a server, and an operator trusts what it states
  the server         a server alone: its tool is guarded, and nothing that it promises is relied on
  nobody             nobody: calls of the tool pass

example:
  retry-guard contracts list --contracts contracts.yaml
"""
_SHOW = """\
example:
  retry-guard contracts show charge --contracts contracts.yaml
"""
_CHECK = """\
examples:
  retry-guard contracts check contracts.yaml
  retry-guard contracts check contracts.yaml -- npx -y pay-server

exit codes:
  0  well
  1  something to mend
  2  bad input, or a server that cannot be asked
"""
_TRUST = """\
The server is started, asked for its tools, and ended. What it states of them in
_meta["retry-guard/contract"] counts from then on for `retry-guard mcp` with the same ledger and
the very same command or URL: keys are sent, read-backs are believed. A change of a contract or of
a tool's schema drops the trust. Contracts of a file count before it in any case.

examples:
  retry-guard contracts trust pay --dry-run -- npx -y pay-server
  retry-guard contracts trust pay -- npx -y pay-server
  retry-guard contracts trust pay --url https://example.com/mcp
  retry-guard contracts trust pay --none -- npx -y pay-server

exit codes:
  0  well
  1  something that it states cannot be trusted
  2  bad input, or a server that cannot be asked
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and what it can do."""
    parser = subparsers.add_parser(
        "contracts",
        help="see what is known of each tool, and trust what a server states",
        description="See what is known of each tool, and who says so.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    listed = _verb(kinds, "list", "what is known of each tool, and who says so", _LIST)
    listed.set_defaults(run=verbs.list_all)
    shown = _verb(kinds, "show", "everything that is known of a tool", _SHOW)
    shown.add_argument("tool", metavar="TOOL", help="its name")
    shown.set_defaults(run=verbs.show_one)
    for one in (listed, shown):
        one.add_argument("--contracts", type=Path, metavar="FILE", help="a contracts file")
        one.add_argument("--json", action="store_true", help="print JSON, for machines")
        add_ledger_option(one)
    _with_server(
        _verb(kinds, "check", "whether a contracts file is right, and fits a server", _CHECK),
        verbs.check_options,
        "FILE",
    ).set_defaults(run=verbs.check)
    _with_server(
        _verb(kinds, "trust", "rely on what a server states of its tools", _TRUST),
        trusting.options,
        "SERVER",
    ).set_defaults(run=trusting.trust)


def _with_server(
    parser: argparse.ArgumentParser, options: verbs.Options, first: str
) -> argparse.ArgumentParser:
    """Let a command take one word, and a server: as a command, or by URL."""
    options(parser)
    add_options(parser)
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar=f"{first} [-- CMD…]",
        help="a name for the server, and how to start it"
        if first == "SERVER"
        else "the contracts file, and how to start the server that it is checked against",
    )
    return parser


def _verb(kinds: "Subparsers", name: str, what: str, epilog: str) -> argparse.ArgumentParser:
    return kinds.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
