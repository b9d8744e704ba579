"""`retry-guard ledger`: what is recorded, what is unresolved, and the operator's answer."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console import _ledger_help as help_, _ledger_verbs as verbs
from retry_guard_console._shared import add_ledger_option, text

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_ID = "the action's id, or how it begins"


def add(subparsers: "Subparsers") -> None:
    """Add the command and what it can do."""
    parser = subparsers.add_parser(
        "ledger",
        help="see and settle what is recorded",
        description="See and settle what is recorded.",
        epilog=help_.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    listed = _verb(
        kinds, "list", verbs.list_all, "unresolved actions first, oldest first", help_.LIST
    )
    _state(listed)
    listed.add_argument(
        "--observed",
        action="store_true",
        help="what retry-guard mcp --mode observe would have done, in place of what is recorded",
    )
    shown = _verb(
        kinds, "show", verbs.show_one, "everything that is recorded of an action", help_.SHOW
    )
    shown.add_argument("id", metavar="ID", help=_ID)
    shown.add_argument("--show-key", action="store_true", help="show the idempotency key too")
    _resolve(
        _verb(kinds, "resolve", verbs.resolve, "say what happened to an action", help_.RESOLVE)
    )
    for one in (listed, shown):
        one.add_argument("--json", action="store_true", help="print JSON, for machines")
    _export(_verb(kinds, "export", verbs.export, "records for other programs", help_.EXPORT))
    for one in kinds.choices.values():
        one.add_argument(
            "--scope", type=text, help="only this scope (the account that is acted for)"
        )
    pruned = _verb(kinds, "prune", verbs.prune, "drop old results; the facts stay", help_.PRUNE)
    pruned.add_argument(
        "--keep", type=float, default=86400.0, metavar="SECONDS", help="default: a day"
    )


def _resolve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=_ID)
    parser.add_argument(
        "answer", metavar="ANSWER", choices=verbs.ANSWERS, help=", ".join(verbs.ANSWERS)
    )
    parser.add_argument("--result", metavar="JSON", help="with happened: what the tool returned")
    parser.add_argument(
        "--final", action="store_true", help="with did-not-happen: the request can no longer run"
    )

    parser.add_argument(
        "--mark", metavar="MARK", help="the mark that the action bore when you looked at it"
    )


def _export(parser: argparse.ArgumentParser) -> None:
    _state(parser)
    parser.add_argument("--tool", type=text, metavar="NAME", help="only calls of this tool")
    parser.add_argument(
        "--since",
        type=verbs.since,
        metavar="TIME",
        help="only what was sent, answered or settled since then: 2026-11-30T12:00:00Z (UTC where "
        "no zone is given), or seconds of the epoch",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write a file that you alone can read, in place of standard output",
    )


def _state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=verbs.STATES, help="only actions in this state")


def _verb(
    kinds: "Subparsers",
    name: str,
    run: Callable[[argparse.Namespace], int],
    what: str,
    epilog: str,
) -> argparse.ArgumentParser:
    parser = kinds.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_ledger_option(parser)
    parser.set_defaults(run=run)
    return parser
