"""The part of the page that is about one contract variant: three charts, and their tables."""

from collections.abc import Iterator, Sequence

from retry_guard_sandbox.grading._tally import Tally
from retry_guard_sandbox.reports._bars import Group, legend, stacked
from retry_guard_sandbox.reports._costs import scatter
from retry_guard_sandbox.reports._lines import COLUMNS, Line, Summary
from retry_guard_sandbox.reports._markup import Node, figure, numbers, table, tag
from retry_guard_sandbox.reports._report import Report

_ARMS = (*("number", "arm"), *COLUMNS[1:], "cells helped", "cells harmed")
_COSTS = ("arm", "calls p50", "p95", "virtual seconds p50", "p95", "tokens p50", "p95")


def section(report: Report, contract: str) -> Iterator[Node]:
    """Return everything about one contract variant."""
    lines = [line for line in report.lines if line.contract == contract]
    arms = [summary for summary in report.summaries if summary.contract == contract]
    yield tag("h2", {}, f"Contracts: {contract}")
    for subject in report.subjects[:1]:
        judged = [line for line in lines if line.condition == subject]
        if judged:
            yield _by_fault(report, contract, subject, judged)
    if arms:
        yield _by_arm(contract, arms)
        yield _against_cost(contract, arms, report.subjects)
    beside = [arm.condition for arm in arms if arm.condition not in report.subjects[:1]]
    rest = [line for line in lines if line.condition in beside]
    if rest:
        yield numbers("Every other arm by fault", *_tables(report, rest))


def _by_fault(report: Report, contract: str, subject: str, lines: Sequence[Line]) -> Node:
    baseline = report.frame.baseline
    groups = [Group(line.fault, _off_on(line)) for line in lines]
    caption = "Cells by fault" if baseline is None else "Cells by fault, guard off and on"
    about = "Each cell counts once, by its worst draw; at the right, those exactly once."
    if baseline is not None:
        about = f"off: {baseline}, on: {subject}. {about}"
    chart = stacked(f"{caption}, contracts {contract}", groups)
    key = legend([counts for group in groups for _, counts in group.bars])
    behind = table(_against(baseline, subject), COLUMNS, [line.texts() for line in lines])
    return figure(caption, about, key, chart, numbers("The numbers", behind))


def _off_on(line: Line) -> list[tuple[str, Tally]]:
    on = [("on" if line.off is not None else "", line.on)]
    return on if line.off is None else [("off", line.off), *on]


def _by_arm(contract: str, arms: Sequence[Summary]) -> Node:
    groups = [Group(arm.condition, (("", arm.counts),)) for arm in arms]
    chart = stacked(f"Cells by arm, contracts {contract}", groups)
    rows = [
        (str(i), arm.condition, *map(str, arm.counts.columns()), str(arm.helped), str(arm.harmed))
        for i, arm in enumerate(arms, 1)
    ]
    behind = table(f"Each arm, contracts {contract}, all faults", _ARMS, rows)
    about = "An agent that already does what an arm does is left out of it: such bars are shorter."
    key = legend([arm.counts for arm in arms])
    return figure("Cells by arm, all faults", about, key, chart, numbers("The numbers", behind))


def _against_cost(contract: str, arms: Sequence[Summary], judged: Sequence[str]) -> Node:
    chart = scatter(f"Cost against exactly once, contracts {contract}", arms, judged)
    key = tag("ol", {"class": "key"}, *(tag("li", {}, arm.condition) for arm in arms))
    behind = table(f"What a write took, contracts {contract}", _COSTS, map(_cost, arms))
    about = "Higher is better, further left is cheaper. Share of cells that are exactly once."
    return figure("Cost against exactly once", about, chart, key, numbers("The numbers", behind))


def _cost(arm: Summary) -> tuple[str, ...]:
    tokens = arm.tokens
    return (
        arm.condition,
        *(f"{value:,.0f}" for value in (arm.calls.p50, arm.calls.p95)),
        *(f"{value:,.1f}" for value in (arm.seconds.p50, arm.seconds.p95)),
        *(("", "") if tokens is None else (f"{tokens.p50:,.0f}", f"{tokens.p95:,.0f}")),
    )


def _tables(report: Report, lines: Sequence[Line]) -> Iterator[Node]:
    for arm in dict.fromkeys(line.condition for line in lines):
        found = [line.texts() for line in lines if line.condition == arm]
        yield table(_against(report.frame.baseline, arm), COLUMNS, found)


def _against(baseline: str | None, arm: str) -> str:
    return arm if baseline is None else f"{baseline}/{arm}"
