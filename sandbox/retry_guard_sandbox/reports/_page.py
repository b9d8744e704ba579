"""The report as one page: charts as inline SVG, the tables behind them, no network, no script."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from retry_guard_sandbox.grading._census import Census
from retry_guard_sandbox.grading._tally import Change, Tally
from retry_guard_sandbox.reports._bars import Group, legend, stacked
from retry_guard_sandbox.reports._costs import scatter
from retry_guard_sandbox.reports._lines import COLUMNS, Line, Summary
from retry_guard_sandbox.reports._markup import (
    Node,
    document,
    figure,
    listed,
    numbers,
    table,
    tag,
)
from retry_guard_sandbox.reports._models_page import models_part
from retry_guard_sandbox.reports._report import HEADING, Report

NAMED = 60
"""Changed cells of an arm that is not judged are named up to this many; the rows have them all."""

_MEANING = {"pass": "Pass", "block": "Block", "inconclusive": "Inconclusive"}
_ARMS = (*("number", "arm"), *COLUMNS[1:], "cells helped", "cells harmed")
_COSTS = ("arm", "calls p50", "p95", "virtual seconds p50", "p95", "tokens p50", "p95")


def page(report: Report, note: str = "") -> str:
    """Return the page. `note`: what is special about the run. Equal reports give equal bytes."""
    contracts = [tag("section", {}, *_contract(report, name)) for name in _contracts(report)]
    main = tag(
        "main",
        {},
        *_opening(report, note),
        tag("div", {"class": "beside"}, *contracts),
        *(models_part(report.models) if report.models is not None else ()),
        *_named(report),
    )
    return document("Retry guard: arms side by side", _style(), main)


@cache
def _style() -> str:
    file = resources.files("retry_guard_sandbox") / "reports" / "page.css"
    return file.read_text(encoding="utf-8")


def _contracts(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.contract for line in report.lines))


def _opening(report: Report, note: str) -> Iterator[Node]:
    yield tag("h1", {}, "Retry guard: arms side by side")
    verdict = tag("strong", {"class": f"verdict {report.verdict}"}, _MEANING[report.verdict])
    yield tag("p", {}, verdict, " ", "; ".join(report.findings) or "nothing found that blocks")
    if note:
        yield tag("p", {"class": "note"}, note)
    yield tag("p", {"class": "lead"}, report.heading.removesuffix(HEADING).strip())
    yield _scope(report.census)
    yield numbers("What was run", _run(report.census))


def _run(census: Census) -> Node:
    """Name all that the rows hold, by field."""
    fields = ("agent", "task", "fault", "attempts_hit", "reads_hit", "harness", "operator")
    items: list[str] = []
    for field in fields:
        values = dict.fromkeys(str(getattr(cell, field)) for cell in census.cells)
        items.append(f"{field.replace('_', ' ')}: {', '.join(values)}")
    draws = sorted({len(d) for arms in census.cells.values() for d in arms.values()})
    items.append(f"draws of a cell: {', '.join(map(str, draws))}")
    return listed(items)


def _scope(census: Census) -> Node:
    facts = (
        ("episodes", f"{census.episodes:,}"),
        ("cells", f"{len(census.cells):,}"),
        ("arms", str(len(census.conditions))),
        (
            "logical writes",
            f"{census.writes:,}",
        ),
    )
    pairs = (tag("div", {}, tag("dt", {}, name), tag("dd", {}, text)) for name, text in facts)
    return tag("dl", {}, *pairs)


def _contract(report: Report, contract: str) -> Iterator[Node]:
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


def _named(report: Report) -> Iterator[Node]:
    if report.frame.baseline is not None:
        yield tag("h2", {}, "Cells that the guard harmed")
        yield _names(report.harms, "None: no draw was exactly once without the guard only.")
        yield from _harmed_by_others(report)
    yield tag("h2", {}, "Duplicates that remain")
    yield listed(report.remaining) if report.remaining else tag("p", {}, "None.")
    yield tag("h2", {}, "How to read this")
    yield listed(HEADING.splitlines())


def _names(harms: Sequence[Change], none: str) -> Node:
    return listed(change.name for change in harms) if harms else tag("p", {}, none)


def _harmed_by_others(report: Report) -> Iterator[Node]:
    harms: dict[str, list[Change]] = {}
    for line in report.lines:
        if line.condition not in report.subjects:
            harms.setdefault(line.condition, []).extend(line.changes.harmed)
    for arm, changes in harms.items():
        if changes:
            names = [change.name for change in changes[:NAMED]]
            more = len(changes) - len(names)
            names += [f"and {more:,} more, which the rows name"] if more else []
            yield numbers(f"{arm} harmed {len(changes):,} cells", listed(names))
