"""What `retry-guard eval` says to a person."""

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retry_guard_console._eval_target import TargetGiven
from retry_guard_console._shared import show, shown, table

if TYPE_CHECKING:
    from retry_guard_sandbox import evaluation

WIDTH = 80
_COLUMNS = {
    "writes": "writes",
    "exactly_once": "exact\nonce",
    "sent_twice": "sent\ntwice",
    "ran_twice": "ran\ntwice",
    "omissions": "omit-\nted",
    "divergent": "di-\nver-\ngent",
    "unwanted": "un-\nwant-\ned",
    "falsely_done": "false\ndone",
    "escalated": "ask-\ned",
    "errors": "er-\nrors",
}
_HEADING = """\
Logical writes, counted from what really happened.
Sent twice: the scaffold sent more than was wanted. Ran twice: the service ran
one send twice; no client can prevent that. Divergent: once, with other content.
Unwanted: effects that the task did not ask for. False done: claimed done, and
wrong. Asked: a person was, or was left with it."""


def print_report(
    episodes: Sequence["evaluation.Episode"],
    assessment: "evaluation.Assessment",
    target: TargetGiven,
    note: str = "",
) -> None:
    """Print the table, each failing episode with what replays it, and the verdict.

    `note`: what is special about the run.
    """
    print(_HEADING)
    for contract in dict.fromkeys(episode.spec.contract for episode in episodes):
        print(f"\nContracts: {contract}")
        _print_table([e for e in episodes if e.spec.contract == contract])
    _print_failures(assessment, target)
    print(f"Findings:{'' if assessment.findings else ' none'}")
    for item in assessment.findings:
        print(textwrap.fill(item, WIDTH, initial_indent="  ", subsequent_indent="      "))
    if note:
        print(note)
    print(f"Verdict: {assessment.verdict}")


def _print_table(episodes: Sequence["evaluation.Episode"]) -> None:
    from retry_guard_sandbox import evaluation

    lines = table("fault", *_COLUMNS.values())
    lines.padding, lines.show_edge = 0, False
    for column in lines.columns[1:]:
        column.justify = "right"
    for fault in dict.fromkeys(episode.spec.fault for episode in episodes):
        rows = [row for e in episodes if e.spec.fault == fault for row in e.rows]
        counts = evaluation.counted(rows)
        lines.add_row(fault, *(str(getattr(counts, name)) for name in _COLUMNS))
    show(lines)


def _print_failures(assessment: "evaluation.Assessment", target: TargetGiven) -> None:
    from retry_guard_sandbox import evaluation

    print(f"Failing episodes: {len(assessment.failures) or 'none'}")
    for failure in assessment.failures:
        name = evaluation.name_of(failure.episode.spec)
        print(f"  {name}: {shown(failure.what)}")
        print(f"    {shown(target.replay(name))}")


def print_episode(episode: "evaluation.Episode") -> None:
    """Print what was said in an episode, and what really happened."""
    print("Calls and answers, by virtual seconds:")
    for said in episode.said:
        print(f"  {said.at:8.2f}  {shown(said.tool)} {shown(json.dumps(said.arguments))}")
        print(f"            {shown(said.reply.text)}")
    print("What really happened:" + ("" if episode.effects else " nothing"))
    for at, effect in episode.effects:
        print(f"  {at:8.2f}  {effect.tool} {effect.id}, from request {effect.send}")
    print()
