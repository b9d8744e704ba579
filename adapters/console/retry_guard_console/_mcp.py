"""`retry-guard mcp`: the guard on the pipe between an MCP client and an MCP server."""

import argparse
import os
import sys
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._mcp_url import add_options, checked_url, headers_of
from retry_guard_console._shared import WELL, add_ledger_option, refuse, text

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_EPILOG = """\
example:
  retry-guard mcp --contracts contracts.yaml -- npx -y @modelcontextprotocol/server-memory
  retry-guard mcp --contracts contracts.yaml --url https://example.com/mcp \\
    --header-env Authorization=EXAMPLE_AUTHORIZATION

as an MCP server in a harness's configuration:
  {"mcpServers": {"memory": {"command": "retry-guard", "args": ["mcp",
    "--contracts", "contracts.yaml", "--",
    "npx", "-y", "@modelcontextprotocol/server-memory"]}}}

Calls of tools whose contract says that they write are guarded; all else passes unchanged.
Standard output has the protocol alone.

exit codes:
  0  the client went away, or a signal came: SIGTERM, SIGINT or SIGHUP
  2  bad input, or a server that cannot be started; what is wrong with contracts or ledger is told
     to the client too, where it asks for tools
A signal before there is a server ends the process as such a signal does.
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "mcp",
        help="guard the tools of an MCP server, between it and any client",
        description="Start an MCP server, or reach one over HTTP, and stand between it and an MCP "
        "client, which speaks over standard input and output. A server that ends is started again.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--contracts", type=Path, metavar="FILE", help="the contracts of its tools")
    add_ledger_option(parser)
    parser.add_argument(
        "--scope",
        type=text,
        metavar="NAME",
        help="the account that its tools act for (default: the user of this system, and the "
        "server's URL, or its command and this folder: say it where one account is reached from "
        "several folders, or where a URL, or the environment, stands for several accounts)",
    )
    parser.add_argument(
        "--server",
        metavar="NAME",
        help="take only the contracts of this server, and those that name none",
    )
    parser.add_argument(
        "--show-key",
        action="store_true",
        help="let the client see the parameters that carry keys (default: they are hidden)",
    )
    parser.add_argument(
        "--answer-within",
        type=float,
        metavar="SECONDS",
        help="answer a guarded call after this long, whatever is known then (default: 5 s before "
        "the limit that was measured of the client: codex 300 s, copilot 180 s, claude none; "
        "else 50 s)",
    )
    parser.add_argument(
        "--no-ask",
        action="store_true",
        help="put no forms to a person (default: where a client shows forms, a person is asked "
        "what became of an action that nothing else can settle)",
    )
    parser.add_argument(
        "--mode",
        choices=("guard", "observe", "off"),
        default="guard",
        help="guard; or let all pass as it is and keep what a guard would have done, for "
        "retry-guard ledger list --observed; or let all pass (default: guard)",
    )
    add_options(parser)
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- CMD…", help="how to start the server"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Relay until the client goes away; return the exit code."""
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    try:
        url, headers = checked_url(given), headers_of(given)
    except ValueError as error:
        return refuse("mcp", str(error))
    if not command and url is None:
        return refuse("mcp", "say how to start the server: retry-guard mcp -- CMD…, or --url URL")
    if command[:1] == [""]:
        return refuse("mcp", "the command is empty: say how to start the server after --")
    if given.scope is not None and not given.scope.strip():
        return refuse("mcp", "--scope is empty: name the account that the tools act for")
    within = given.answer_within
    if within is not None and not 0 < within < inf:
        return refuse("mcp", "--answer-within: give a number of seconds above 0")
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        return refuse("mcp", "standard input is closed: let an MCP client start it")
    from retry_guard_mcp_proxy import Settings, serve

    settings = Settings(
        command=tuple(command),
        url=url,
        headers=headers,
        contracts=given.contracts,
        ledger=given.ledger,
        scope=given.scope,
        server=given.server,
        show_key=given.show_key,
        answer_within=within,
        asks=not given.no_ask,
        mode=given.mode,
    )
    serve(settings, *_standard())
    return WELL


def _standard() -> tuple[int, int]:
    """Return both streams; what is read from now on is nothing, what is printed is an error's."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing
