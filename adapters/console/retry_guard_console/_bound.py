"""`retry-guard bound`: the best that any policy could do, next to the guard."""

import argparse
import json
import textwrap
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retry_guard_console._bound_line import line
from retry_guard_console._bound_table import WIDTH, print_table
from retry_guard_console._outputs import Outputs, opened
from retry_guard_console._shared import one_line, refuse
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import bound

WELL, WORSE = 0, 1

_EPILOG = """\
examples:
  retry-guard bound
  retry-guard bound --contracts read,bounded_read --shown timeout --outcomes
  retry-guard bound --propositions

exit codes:
  0  the guard equals the bound in every cell, and both propositions hold
  1  it does not, or they do not
  2  bad input
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "bound",
        help="the best that any policy could do, next to the guard",
        description="Solve the moment of doubt exactly, by backward induction over all that a "
        "policy could know, and run the guard in the same hidden schedules. List options take "
        "names separated by commas; an unknown name lists the valid ones.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--contracts", metavar="NAMES", help="what is stated of the write")
    parser.add_argument(
        "--shown", metavar="NAMES", help="what the client sees: timeout, error, reset"
    )
    parser.add_argument("--scripts", metavar="NAMES", help="how many attempts it hits: 1, 2, all")
    parser.add_argument(
        "--attempts",
        type=int,
        default=2,
        metavar="N",
        help="re-issues, 0 to 4 (default 2; the guard's own default is 4, which takes minutes)",
    )
    parser.add_argument(
        "--outcomes", action="store_true", help="also by what became of the first attempt"
    )
    parser.add_argument(
        "--propositions", action="store_true", help="only the two propositions, no cells"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write one line of JSON for each cell"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print the propositions and the table; return the exit code."""
    from retry_guard_sandbox import bound

    choices = {
        "contracts": (given.contracts, bound.SUBJECTS),
        "shown": (given.shown, bound.SHOWN),
        "scripts": (given.scripts, bound.SCRIPTS),
    }
    chosen: dict[str, Any] = {}
    for option, (text, known) in choices.items():
        names = known if text is None else tuple(dict.fromkeys(_split(text)))
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            wrong = ", ".join(unknown) or "nothing"
            return refuse("bound", f"--{option} {wrong}: give some of {', '.join(known)}")
        chosen[option] = names
    if not 0 <= given.attempts <= 4:  # noqa: PLR2004 - as --help says
        return refuse("bound", f"--attempts {given.attempts}: give 0 to 4")
    try:
        with opened(given) as outputs:
            code = _run(given, chosen, outputs)
            outputs.flush()
            return outputs.told("bound", code)
    except GuardError as error:
        return refuse("bound", one_line(error))


def _run(given: argparse.Namespace, chosen: dict[str, Any], outputs: Outputs) -> int:
    holds = _propositions()
    if given.propositions:
        return WELL if holds else WORSE
    compared = list(_compared(chosen, given.attempts, outputs))
    equal = print_table(compared, given.attempts, outcomes=given.outcomes)
    return WELL if equal and holds else WORSE


def _split(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())


def _propositions() -> bool:
    """Print both; return whether they hold."""
    from retry_guard_sandbox import bound

    tried, reissued = bound.without_keys_or_people(), bound.with_the_same_key()
    none = not any(one.best.is_exactly_once for one in tried)
    asked = any(value.escalations for one in reissued for value in one.by_hidden.values())
    safe = all(v.is_exactly_once for one in reissued for v in one.by_hidden.values()) and not asked
    sets = sum(one.sets for one in tried)
    first = (
        "1. Without a key, an in-flight bound or a person to ask, no policy is exactly once: in "
        f"each of {len(tried)} games ({sets} information sets) the best one has a duplicate, a "
        f"false end or an omission in some schedule. {_holds(none)}"
    )
    outcomes = ", ".join(reissued[0].by_hidden)
    second = (
        "2. Re-issuing under the recorded key is exactly once in all five hidden outcomes "
        f"({outcomes}), in each of {len(reissued)} games. {_holds(safe)}"
    )
    for text in (first, second):
        print(textwrap.fill(text, WIDTH))
    return none and safe


def _holds(fact: bool) -> str:  # noqa: FBT001 - called by position
    return "Holds." if fact else "DOES NOT HOLD."


def _compared(
    chosen: dict[str, Any], attempts: int, outputs: Outputs
) -> Iterator["bound.Comparison"]:
    """Yield each cell, with a progress bar where a person looks on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    from retry_guard_sandbox import bound

    console, cells = Console(stderr=True), prod(len(names) for names in chosen.values())
    columns, off = (BarColumn(), MofNCompleteColumn(), "cells"), not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as bar:
        task = bar.add_task("", total=cells)
        for one in bound.compare_all(**chosen, rules=bound.Rules(attempts=attempts)):
            bar.advance(task)
            outputs.write("json", json.dumps(line(one)) + "\n")
            yield one
