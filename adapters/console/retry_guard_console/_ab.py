"""`retry-guard ab`: the sandbox with the guard off and on, side by side."""

import argparse
import os
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from retry_guard_console._shared import refuse, show, table

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import Grid, Report, Row

_EPILOG = """\
example:
  retry-guard ab --faults late_commit,redelivery --contracts native --json rows.jsonl

exit codes:
  0  pass
  1  block: the guard sent a duplicate or harmed a cell, or something was claimed done under it
     that was not exactly once
  2  bad input
  3  inconclusive: an episode broke, or an arm is missing
"""

WIDTH = 80

_LISTS = {
    "contracts": "contract variants",
    "faults": "what goes wrong with each write",
    "attempts_hit": "how many attempts of each write a fault hits: 1, 2, all (default 1,all)",
    "services": "the services whose tasks are done",
    "agents": "the scripted agents that do them",
    "conditions": "the arms",
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
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="draws of each cell (default 3)"
    )
    parser.add_argument(
        "--jobs", type=int, default=_cores(), metavar="N", help="processes (default: one per core)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write one line of JSON for each logical write"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the grid, print the table; return the exit code."""
    from retry_guard_sandbox import GridError, report

    if given.jobs < 1:
        return refuse("ab", f"--jobs {given.jobs}: give at least 1")
    try:
        grid = _grid(given)
    except GridError as error:
        return refuse("ab", str(error))
    rows = _rows(grid, given.jobs)
    if given.json is None:
        result = report(rows)
    else:
        try:
            with given.json.open("w", encoding="utf-8", newline="\n") as file:
                result = report(_written(rows, file))
        except (OSError, ValueError) as error:
            return refuse("ab", f"--json {given.json}: {_why(error)}; name another file")
    _print(result)
    return result.exit_code


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _grid(given: argparse.Namespace) -> "Grid":
    """Return the grid that was asked for; raises `GridError`."""
    from retry_guard_sandbox import CHOICES, Grid

    lists: dict[str, tuple[str, ...]] = {}
    for name in _LISTS:
        text: str | None = getattr(given, name)
        if text is not None:
            names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
            # Where `all` is itself a name, it is meant as that.
            every = names == ("all",) and "all" not in CHOICES[name]
            lists[name] = CHOICES[name] if every else names
    return Grid(**lists, seeds=given.seeds)


def _rows(grid: "Grid", jobs: int) -> Iterator["Row"]:
    """Yield the rows, with a progress bar where a person looks on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from retry_guard_sandbox import run_all

    specs, console = grid.specs(), Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), "episodes", TimeRemainingColumn())
    off = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as bar:
        advance = partial(bar.advance, bar.add_task("", total=len(specs)))
        yield from run_all(specs, jobs=jobs, progress=advance)


def _written(rows: Iterator["Row"], file: TextIO) -> Iterator["Row"]:
    """Hand the rows on, and write each to the file."""
    for row in rows:
        file.write(row.to_json() + "\n")
        yield row


def _print(result: "Report") -> None:
    from retry_guard_sandbox import COLUMNS, HEADING

    print(HEADING)
    for contract in dict.fromkeys(line.contract for line in result.lines):
        lines = table(*(name.replace(" ", "\n", 1) for name in COLUMNS))
        lines.padding, lines.show_edge = (0, 0, 0, 1), False
        for column in lines.columns[1:]:
            column.justify = "right"
        for line in result.lines:
            if line.contract == contract:
                lines.add_row(*line.texts())
        print(f"\nContracts: {contract}")
        show(lines)
    print(f"Cells that the guard helped (off not exactly once, on exactly once): {result.helped}")
    for title, items in (
        ("Cells that the guard harmed (off exactly once, on not)", result.harmed),
        ("Duplicates that remain with the guard", result.remaining),
        ("Findings", result.findings),
    ):
        print(f"{title}:{'' if items else ' none'}")
        for item in items:
            print(textwrap.fill(item, WIDTH, initial_indent="  ", subsequent_indent="      "))
    print(f"Verdict: {result.verdict}")


def _cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
