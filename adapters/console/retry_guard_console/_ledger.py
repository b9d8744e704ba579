"""`retry-guard ledger`: what is recorded, what is unresolved, and the operator's answer."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from retry_guard_console import _ledger_verbs as verbs
from retry_guard_console._shared import add_ledger_option

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers

_ID = "the action's id, or how it begins"

_EXAMPLES = """\
examples:
  retry-guard ledger list --state open
  retry-guard ledger show 3f9c
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
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

example:
  retry-guard ledger resolve 3f9c happened --result '{"id": "ch_1"}'
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
    listed.add_argument("--state", choices=verbs.STATES, help="only actions in this state")
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
    for one in kinds.choices.values():
        one.add_argument("--scope", help="only this scope (the account that is acted for)")
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
