"""`retry-guard ab`: arms of the sandbox side by side, with the guard off and on."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._ab_options import add_options, grid_of, refuse_contradictions
from retry_guard_console._course import Course, took
from retry_guard_console._interrupts import interruptible
from retry_guard_console._models import staged_models, staged_replay
from retry_guard_console._outputs import opened, told
from retry_guard_console._play import Scripts
from retry_guard_console._shared import one_line, refuse, why
from retry_guard_console._tables import print_report
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_console._play import Play
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import Bound, Report, Row

INCONCLUSIVE, INTERRUPTED = 3, 130

_EPILOG = """\
examples:
  retry-guard ab --faults late_commit,redelivery --contracts native --json rows.jsonl
  retry-guard ab --conditions all --html page.html
  retry-guard ab --from rows.jsonl --html page.html --junit junit.xml
  retry-guard ab --model openai:NAME --faults late_commit --token-cap 2000000 --record said.jsonl
  retry-guard ab --replay said.jsonl

exit codes:
  0    pass
  1    block: the guard sent a duplicate or harmed a cell, or something was claimed done under it
       that was not exactly once
  2    bad input
  3    inconclusive: an episode broke, an arm or a draw is missing, or a process was lost
  130  interrupted: the table is of what was finished, and so are the files
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "ab",
        help="run the fault sandbox with the guard off and on, and compare",
        description="Run scripted agents against faulty services, with the guard off and on, and "
        "count what really happened. List options take names separated by commas, or `all`; an "
        "unknown name lists the valid ones.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the grid or read the rows, print the table; return the exit code."""
    try:
        refuse_contradictions(given)
        if given.source is not None:
            return _read(given)
        return _run(given)
    except GuardError as error:
        return refuse("ab", one_line(error))


def _read(given: argparse.Namespace) -> int:
    """Report on rows that were written before."""
    from retry_guard_sandbox import RowError, read_rows

    source, bounds = Path(given.source), _bounds(given)
    with told("from", source):
        file = source.open(encoding="utf-8")
    with file, opened(given) as outputs:
        try:
            result = _report(given, read_rows(file))
        except RowError as error:
            raise GuardError(f"--from {source}: {error}") from error
        except (OSError, ValueError) as error:
            raise GuardError(f"--from {source}: {why(error)}; name another file") from error
        outputs.finish(result, bounds=bounds)
        print_report(result)
    return outputs.told("ab", result.exit_code)


def _bounds(given: argparse.Namespace) -> list["Bound"]:
    """Return the cells of `--bound`; raises `GuardError` for a file that has none."""
    from retry_guard_sandbox import BoundError, read_bounds

    if given.bound is None:
        return []
    if given.html is None:
        raise GuardError("--bound is for the page, so give --html too")
    try:
        with told("bound", given.bound), given.bound.open(encoding="utf-8") as file:
            return list(read_bounds(file))
    except BoundError as error:
        raise GuardError(f"--bound {given.bound}: {error}") from error


def _run(given: argparse.Namespace) -> int:
    bounds, play = _bounds(given), _staged(given)
    with opened(given) as outputs, play.opened(), interruptible() as interrupt:
        course = Course(play, interrupt)
        result = _report(given, outputs.kept(course.rows()))
        note = course.note()
        outputs.finish(result, note, bounds)
        print_report(result, note, (*play.remarks(), took(play.meter, given.jobs)))
    code = result.exit_code or (INCONCLUSIVE if note else result.exit_code)
    return outputs.told("ab", INTERRUPTED if interrupt.came else code)


def _staged(given: argparse.Namespace) -> "Play":
    """Return what is played; raises `GuardError`."""
    if given.replay is not None:
        return staged_replay(given.replay)
    specs = grid_of(given).specs()
    return Scripts(specs, given.jobs) if given.model is None else staged_models(given, specs)


def _report(given: argparse.Namespace, rows: Iterable["Row"]) -> "Report":
    from retry_guard_sandbox import report

    return report(rows, end_point=given.end_point, margin=given.margin)
