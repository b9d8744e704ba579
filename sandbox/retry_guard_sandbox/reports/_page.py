"""The report as one page: charts as inline SVG, the tables behind them, no network, no script."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from retry_guard_sandbox.grading._census import Census
from retry_guard_sandbox.grading._tally import Change
from retry_guard_sandbox.reports._bounds import Bound, bounds_part
from retry_guard_sandbox.reports._markup import (
    Node,
    document,
    listed,
    numbers,
    tag,
)
from retry_guard_sandbox.reports._models_page import models_part
from retry_guard_sandbox.reports._report import HEADING, Report
from retry_guard_sandbox.reports._sections import section

NAMED = 60
"""Changed cells of an arm that is not judged are named up to this many; the rows have them all."""

_MEANING = {"pass": "Pass", "block": "Block", "inconclusive": "Inconclusive"}


def page(report: Report, note: str = "", bounds: Sequence[Bound] = ()) -> str:
    """Return the page. `note`: what is special about the run; `bounds`: cells to show beside.

    Equal reports give equal bytes.
    """
    contracts = [tag("section", {}, *section(report, name)) for name in _contracts(report)]
    main = tag(
        "main",
        {},
        *_opening(report, note),
        tag("div", {"class": "beside"}, *contracts),
        *(bounds_part(bounds) if bounds else ()),
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
