"""`retry-guard ledger`: what is recorded, what is unresolved, and the operator's answer."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console import _ledger_verbs as verbs
from retry_guard_console._shared import add_ledger_option, text

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_ID = "the action's id, or how it begins"

_EXAMPLES = """\
examples:
  retry-guard ledger list --state open
  retry-guard ledger show 3f9c
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
  retry-guard ledger export --since 2026-11-30 --out records.jsonl
"""
_LIST = """\
example:
  retry-guard ledger list --state open --scope acme
  retry-guard ledger list --observed

what a guard would have done, with --observed:
  send            the same as was done
  replay, join    give the first call's result in place of a second send
  read            after the send, whose outcome was unknown: read back
  reissue         (likewise) send it again with the same key
  ask             (likewise) ask a person
  refuse          not send it; the reason says why
"""
_SHOW = """\
example:
  retry-guard ledger show 3f9c --json
"""
_RESOLVE = """\
answers:
  happened         it happened, and --result is what the tool returned: later calls get that
  did-not-happen   counts once the request can no longer run; with --final, at once
  again            repeat it once, on purpose
  abandon          given up: repeats in its turn stay refused, later turns may start anew

An answer is refused where the action has changed since it was asked for. With --seen it is refused
also where it has changed since `ledger show` showed it, with that mark. Of an action that is done,
again is taken with --seen only.

examples:
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
  retry-guard ledger resolve 3f9c again --seen 5d41402a
"""
_EXPORT = """\
example:
  retry-guard ledger export --scope acme --state open
  retry-guard ledger export --tool charge --since 2026-11-30T12:00:00Z --out records.jsonl

A line has what `retry-guard ledger show --json` shows: arguments and results, and no keys.
"""
_PRUNE = """\
example:
  retry-guard ledger prune --keep 3600
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and what it can do."""
    parser = subparsers.add_parser(
        "ledger",
        help="see and settle what is recorded",
        description="See and settle what is recorded.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    listed = _verb(kinds, "list", verbs.list_all, "unresolved actions first, oldest first", _LIST)
    _state(listed)
    listed.add_argument(
        "--observed",
        action="store_true",
        help="what retry-guard mcp --mode observe would have done, in place of what is recorded",
    )
    shown = _verb(kinds, "show", verbs.show_one, "everything that is recorded of an action", _SHOW)
    shown.add_argument("id", metavar="ID", help=_ID)
    shown.add_argument("--show-key", action="store_true", help="show the idempotency key too")
    _resolve(_verb(kinds, "resolve", verbs.resolve, "say what happened to an action", _RESOLVE))
    for one in (listed, shown):
        one.add_argument("--json", action="store_true", help="print JSON, for machines")
    _export(_verb(kinds, "export", verbs.export, "records for other programs", _EXPORT))
    for one in kinds.choices.values():
        one.add_argument(
            "--scope", type=text, help="only this scope (the account that is acted for)"
        )
    pruned = _verb(kinds, "prune", verbs.prune, "drop old results; the facts stay", _PRUNE)
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
        "--seen", metavar="MARK", help="the mark that the action bore when you looked at it"
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
