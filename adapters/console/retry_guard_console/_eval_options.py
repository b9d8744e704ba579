"""What `retry-guard eval` is told: its options, and the plan that they make."""

import argparse
import os
import threading
from typing import TYPE_CHECKING

from retry_guard_console._outputs import add_output_options
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import evaluation

_EPILOG = """\
examples:
  retry-guard eval my_agent:run
  retry-guard eval my_agent:run --tasks all --faults lost_ack,late_commit --min-exactly-once 0.9
  retry-guard eval --jobs 4 -- node agent.js

function(prompt: str, tools: Sequence[Tool]) may be async. A tool has name, description and
parameters (a JSON schema), takes keyword arguments and returns text. A command gets the prompt on
standard input and, in RETRY_GUARD_MCP_CONFIG, the path of an MCP configuration. Both do the task
with the tools that there are, and end it by calling `finish` with status done, uncertain or
failed.

exit codes:
  0    pass
  1    block: it sent more duplicates than allowed, wrongly claimed that something was done, or
       fewer writes than asked for happened exactly once
  2    bad input
  3    inconclusive: an episode hung, broke or was never finished, it never claimed that anything
       is done, or it does not do a task even where nothing goes wrong
  130  interrupted: the table is of what was finished, and so are the files
"""

_LISTS = {
    "contracts": "contract variants (default native,keys_everywhere)",
    "faults": "what goes wrong with each write (default all)",
    "services": "only tasks of these services (default all)",
    "tasks": "the tasks (default: one for each write)",
    "attempts_hit": "how many attempts of each write a fault hits: 1, 2, all (default 1)",
    "reads_hit": "how many attempts of each read it hits: 0, 1, 2, all (default 0)",
}
_OWN_ALL = "attempts_hit", "reads_hit"
"""Options of whose values `all` is one."""


def add_parser(subparsers: "Subparsers") -> argparse.ArgumentParser:
    """Add the command and its options; return its parser."""
    parser = subparsers.add_parser(
        "eval",
        help="put your own agent scaffold through the fault sandbox",
        description="Put an agent scaffold through tasks whose writes time out, fail or are "
        "answered late, and count what really happened. List options take names separated by "
        "commas, or `all`; an unknown name lists the valid ones.",
        usage="retry-guard eval [options] module:function | -- CMD ...",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", help=argparse.SUPPRESS)
    for name, what in _LISTS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="NAMES", help=what)
    parser.add_argument(
        "--operator", metavar="NAME", help="who can be asked, through a tool ask_operator"
    )
    _add_numbers(parser)
    parser.add_argument("--episode", metavar="NAME", help="replay this one, and show what happened")
    add_output_options(parser)
    return parser


def _add_numbers(parser: argparse.ArgumentParser) -> None:
    for name, kind, default, what in (
        ("seeds", int, 1, "draws of each cell (default 1)"),
        ("jobs", int, _cores(), "processes at a time (default: one per core)"),
        ("episode-timeout", float, 60.0, "seconds of real time for an episode (default 60)"),
        ("max-duplicates", int, 0, "duplicates that are let pass (default 0)"),
        ("max-false-completions", int, 0, "wrong claims that are let pass (default 0)"),
        ("min-exactly-once", float, None, "share of writes, from 0 to 1 (default: not judged)"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=what)


def refuse_wrong(given: argparse.Namespace) -> None:
    """Raise `GuardError` for a number that makes no sense."""
    least, longest = given.min_exactly_once, threading.TIMEOUT_MAX
    for wrong, text in (
        (given.jobs < 1, f"--jobs {given.jobs}: give at least 1"),
        (given.seeds < 1, f"--seeds {given.seeds}: give at least 1, else there is no episode"),
        (
            not 0 < given.episode_timeout <= longest,
            f"--episode-timeout {given.episode_timeout:g}: give seconds, more than 0",
        ),
        (given.max_duplicates < 0, "--max-duplicates: give 0 or more"),
        (given.max_false_completions < 0, "--max-false-completions: give 0 or more"),
        (
            least is not None and not 0 <= least <= 1,
            f"--min-exactly-once {least}: give a share from 0 to 1",
        ),
    ):
        if wrong:
            raise GuardError(text)


def plan_given(given: argparse.Namespace) -> "evaluation.Plan":
    """Return the plan that was asked for; raises `GridError`."""
    from retry_guard_sandbox import evaluation

    chosen: dict[str, tuple[str, ...]] = {}
    for name in _LISTS:
        text: str | None = getattr(given, name)
        if text is not None:
            names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
            every = names == ("all",) and name not in _OWN_ALL
            chosen[name] = evaluation.CHOICES[name] if every else names
    return evaluation.Plan(
        operator=given.operator or evaluation.NOBODY,
        seeds=tuple(range(given.seeds)),
        **chosen,
    )


def _cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
