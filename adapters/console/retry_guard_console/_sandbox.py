"""`retry-guard sandbox`: one task of the sandbox, served over MCP on standard input and output."""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from retry_guard_console._joining import join
from retry_guard_console._outputs import told
from retry_guard_console._over import refuse_other
from retry_guard_console._shared import refuse

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import serving

_EPILOG = """\
example:
  retry-guard sandbox --task charge_invoice --fault lost_ack --result rows.jsonl

as an MCP server in a harness's configuration:
  {"mcpServers": {"sandbox": {"command": "retry-guard",
    "args": ["sandbox", "--task", "charge_invoice", "--fault", "lost_ack"]}}}

The task, in words, is written to standard error. Standard output has the protocol alone.
Whoever does the task ends it by calling `finish`.

exit codes:
  0  the session ended
  2  bad input
"""

_OPTIONS = {
    "task": "which task (default: the first one of the service)",
    "service": "which service (default billing)",
    "fault": "what goes wrong with each write (default none)",
    "attempts_hit": "how many attempts of each write the fault hits: 1, 2, all (default 1)",
    "reads_hit": "how many attempts of each read the fault hits: 0, 1, 2, all (default 0)",
    "contract": "the contract variant (default native)",
    "operator": "who can be asked, through a tool ask_operator (default none: no such tool)",
}


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "sandbox",
        help="serve a task of the fault sandbox over MCP (stdio)",
        description="Serve one task of the fault sandbox to any MCP client, over standard input "
        "and output. Time in it is virtual: no fault takes real time.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, what in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="NAME", help=what)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which draw (default 0)")
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FILE",
        help="write one line of JSON for each logical write, once it is finished or has ended",
    )
    parser.add_argument("--join", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Serve until the client goes away; return the exit code."""
    # A harness ends its servers so: what is known then is still to be written.
    signal.signal(signal.SIGTERM, _end)
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        return refuse("sandbox", "standard input is closed: let an MCP client start it")
    if given.join is not None:
        return join(given.join)
    from retry_guard_sandbox import GridError

    try:
        session = _session(given)
    except GridError as error:
        return refuse("sandbox", str(error))
    if given.result is not None:
        with told("result", given.result):
            refuse_other(given.result)
            given.result.write_bytes(b"")
    print(f"task: {session.prompt}", file=sys.stderr, flush=True)
    return _serve(session, given.result)


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


def _session(given: argparse.Namespace) -> "serving.Session":
    """Return the episode that was asked for; raises `GridError`."""
    from retry_guard_sandbox import evaluation, serving

    chosen = {name: value for name in _OPTIONS if (value := getattr(given, name)) is not None}
    return serving.Session(evaluation.episode(**chosen, seed=given.seed))


def _serve(session: "serving.Session", result: Path | None) -> int:
    from retry_guard_sandbox import serving

    def write() -> None:
        if result is not None:
            rows = "".join(row.to_json() + "\n" for row in session.end())
            with told("result", result):
                result.write_text(rows, encoding="utf-8", newline="\n")

    def settle() -> None:
        if session.claimed is not None:
            write()

    try:
        serving.serve(session, *_standard(), settle=settle)
    finally:
        write()
    return 0


def _standard() -> tuple[BinaryIO, BinaryIO]:
    """Return both streams as bytes; what is printed from now on goes to standard error."""
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return sys.stdin.buffer, outgoing
