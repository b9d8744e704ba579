"""`retry-guard eval`: somebody's own scaffold in the sandbox, as a check before a merge."""

import argparse
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from retry_guard_console._eval_options import add_parser, plan_given, refuse_wrong
from retry_guard_console._eval_report import print_episode, print_report
from retry_guard_console._eval_target import TargetGiven, target_of
from retry_guard_console._interrupts import Interrupt, interruptible
from retry_guard_console._outputs import Outputs, opened
from retry_guard_console._shared import one_line, refuse
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_console._shared import Subparsers
    from retry_guard_sandbox import Row, evaluation

INTERRUPTED = 130


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options."""
    add_parser(subparsers).set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the episodes, say what came of them; return the exit code."""
    from retry_guard_sandbox import evaluation

    try:
        refuse_wrong(given)
        plan = evaluation.plan_of(given.episode) if given.episode else plan_given(given)
        with opened(given) as outputs:
            return _run(given, plan, target_of(given.target), outputs)
    except GuardError as error:
        return refuse("eval", one_line(error))


def _run(
    given: argparse.Namespace, plan: "evaluation.Plan", target: TargetGiven, outputs: Outputs
) -> int:
    from retry_guard_sandbox import evaluation, report

    episodes: list[evaluation.Episode] = []
    with interruptible() as interrupt, _ended_by(interrupt):
        rows = list(outputs.kept(_rows(given, plan, target, interrupt, episodes)))
    many = len(plan.specs())
    why = "interrupted" if interrupt.came else "given up, for one after the other hung"
    whole = len(episodes) == many
    note = "" if whole else f"INCOMPLETE ({why}): {len(episodes)} of {many} episodes."
    limits = evaluation.Thresholds(
        max_duplicates=given.max_duplicates,
        max_false_completions=given.max_false_completions,
        min_exactly_once=given.min_exactly_once,
    )
    assessment = evaluation.assess(episodes, limits, whole=whole)
    result = report(rows, frame=evaluation.FRAME)
    judged = replace(result, findings=assessment.findings, verdict=assessment.verdict)
    outputs.finish(judged, note)
    if given.episode and episodes:
        print_episode(episodes[0])
    print_report(episodes, assessment, target, note)
    return outputs.told("eval", INTERRUPTED if interrupt.came else assessment.exit_code)


@contextmanager
def _ended_by(interrupt: Interrupt) -> Generator[None]:
    """Take being ended for an interrupt: what this process started has to end with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt.handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _rows(
    given: argparse.Namespace,
    plan: "evaluation.Plan",
    target: TargetGiven,
    interrupt: Interrupt,
    episodes: list["evaluation.Episode"],
) -> Iterator["Row"]:
    """Yield the rows as the episodes end, and collect these; with a progress bar for a person."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from retry_guard_sandbox import evaluation

    specs, console = plan.specs(), Console(stderr=True)
    alone = len(specs) == 1
    runner = evaluation.Episodes(
        target.launch, jobs=given.jobs, timeout=given.episode_timeout, shown=alone
    )
    columns = (BarColumn(), MofNCompleteColumn(), "episodes", TimeRemainingColumn())
    off = alone or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as bar:
        task = bar.add_task("", total=len(specs))
        for episode in runner.run(specs, stop=lambda: interrupt.came):
            bar.advance(task)
            episodes.append(episode)
            yield from episode.rows
