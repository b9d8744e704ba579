"""`retry-guard ab`: arms of the sandbox side by side, with the guard off and on."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._course import Course, took
from retry_guard_console._interrupts import interruptible
from retry_guard_console._models import (
    OF_MODELS,
    Scripts,
    add_model_options,
    models_of,
    staged_models,
    staged_replay,
)
from retry_guard_console._outputs import add_output_options, opened, told
from retry_guard_console._shared import complain, refuse
from retry_guard_console._tables import print_report
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_console._models import Play
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import Bound, Grid, Report, Row

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

_LISTS = {
    "contracts": "contract variants (all: those that tell the truth)",
    "faults": "what goes wrong with each write",
    "attempts_hit": "how many attempts of each write a fault hits: 1, 2, all (default 1,all)",
    "reads_hit": "how many attempts of each read it hits: 0, 1, 2, all (default 0)",
    "services": "the services whose tasks are done",
    "tasks": "the tasks that are done, of these services",
    "agents": "the scripted agents that do them (with --model: default none)",
    "conditions": "the arms (default no_guard,guard)",
    "harness": "what goes wrong in the agent's own program (default none)",
    "operators": "who answers when a write is handed over (default fencing)",
}


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
    for name, what in _LISTS.items():
        option = "operator" if name == "operators" else name.replace("_", "-")
        parser.add_argument(f"--{option}", dest=name, metavar="NAMES", help=what)
    parser.add_argument("--seeds", type=int, metavar="N", help="draws of each cell (default 1)")
    parser.add_argument(
        "--jobs", type=int, default=_cores(), metavar="N", help="processes (default: one per core)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="run nothing: report on the rows that --json wrote",
    )
    parser.add_argument(
        "--bound",
        type=Path,
        metavar="FILE",
        help="show on the page of --html what `retry-guard bound --json FILE` wrote",
    )
    add_output_options(parser)
    _add_statistics(parser)
    add_model_options(parser)
    parser.set_defaults(run=run)


def _add_statistics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--end-point",
        default="duplicate",
        metavar="NAME",
        help="what agents that are models are compared on (default duplicate)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="how small a difference between arms of a model counts as none (default 0.05)",
    )


def run(given: argparse.Namespace) -> int:
    """Run the grid or read the rows, print the table; return the exit code."""
    try:
        _refuse_contradictions(given)
        if given.source is not None:
            return _read(given)
        return _run(given)
    except GuardError as error:
        return refuse("ab", " ".join(str(error).split()))


def _refuse_contradictions(given: argparse.Namespace) -> None:
    from retry_guard_sandbox import END_POINTS

    if given.jobs < 1:
        raise GuardError(f"--jobs {given.jobs}: give at least 1")
    if given.end_point not in END_POINTS:
        raise GuardError(f"--end-point {given.end_point}: choose from {', '.join(END_POINTS)}")
    if not 0 < given.margin < 1:
        raise GuardError(f"--margin {given.margin}: give a share between 0 and 1")
    runs = ("model", *OF_MODELS)
    for option in ("source", "replay"):
        excluded = {"source": ("json", "replay"), "replay": ()}[option]
        named = _named(given, (*_LISTS, "seeds", *runs, *excluded))
        if getattr(given, option) is not None and named:
            what = {"source": "--from runs nothing", "replay": "--replay plays what was recorded"}
            raise GuardError(f"{what[option]}, so leave out {named[0]}")
    if given.model is None and (named := _named(given, OF_MODELS)):
        raise GuardError(f"{named[0]} is for models, so give --model too")


def _named(given: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Return the options of these that were given."""
    options = (name for name in names if getattr(given, name) is not None)
    return [
        f"--{'operator' if name == 'operators' else name.replace('_', '-')}" for name in options
    ]


def _read(given: argparse.Namespace) -> int:
    """Report on rows that were written before."""
    from retry_guard_sandbox import RowError, read_rows

    source, bounds = Path(given.source), _bounds(given)
    with told("from", source):
        file = source.open(encoding="utf-8")
    with file, opened(given) as outputs:
        try:
            result = _report(given, read_rows(file))
        except (RowError, OSError, ValueError) as error:
            raise GuardError(f"--from {source}: {error}") from error
        print_report(result)
        outputs.finish(result, bounds=bounds)
    return result.exit_code


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
        print_report(result, note)
        outputs.finish(result, note, bounds)
    for remark in (*play.remarks(), took(play.meter, given.jobs)):
        complain(f" ab: {remark}")
    if interrupt.came:
        return INTERRUPTED
    return result.exit_code or (INCONCLUSIVE if note else result.exit_code)


def _staged(given: argparse.Namespace) -> "Play":
    """Return what is played; raises `GuardError`."""
    if given.replay is not None:
        return staged_replay(given.replay)
    specs = _grid(given).specs()
    return Scripts(specs, given.jobs) if given.model is None else staged_models(given, specs)


def _report(given: argparse.Namespace, rows: Iterable["Row"]) -> "Report":
    from retry_guard_sandbox import report

    return report(rows, end_point=given.end_point, margin=given.margin)


def _grid(given: argparse.Namespace) -> "Grid":
    """Return the grid that was asked for; raises `GridError`."""
    from retry_guard_sandbox import EVERY, Grid

    lists: dict[str, tuple[str, ...]] = {}
    for name in _LISTS:
        text: str | None = getattr(given, name)
        if text is not None:
            names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
            # Where `all` is itself a name, it is meant as that.
            every = names == ("all",) and "all" not in EVERY[name]
            lists[name] = EVERY[name] if every else names
    models = models_of(given)
    if models:
        lists.setdefault("agents", ())
    return Grid(**lists, models=models, seeds=Grid().seeds if given.seeds is None else given.seeds)


def _cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
