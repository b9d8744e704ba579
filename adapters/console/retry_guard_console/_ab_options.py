"""The options of `retry-guard ab`, and the grid that they ask for."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._models import OF_MODELS, add_model_options, models_of
from retry_guard_console._outputs import add_output_options
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_sandbox import Grid

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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is run, where it is written, and how models are compared."""
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


def refuse_contradictions(given: argparse.Namespace) -> None:
    """Raise `GuardError` for values and pairs of options that mean nothing."""
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


def grid_of(given: argparse.Namespace) -> "Grid":
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
