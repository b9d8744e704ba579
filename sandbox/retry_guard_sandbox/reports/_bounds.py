"""The bound beside the guard, on the page: from the lines that `retry-guard bound` writes."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retry_guard import GuardError
from retry_guard_sandbox.reports._markup import (
    Node,
    drawing,
    figure,
    label,
    numbers,
    percent,
    rule,
    table,
    tag,
)

_HARM = ("worst_duplicates", "worst_false", "worst_omissions")
_VECTOR = (*_HARM, "escalations", "calls", "seconds")
_COLUMNS = ("shown, hits", "schedules", "duplicates", "false ends", "omissions", "escalations")
_ROW, _FROM, _TO = 24, 0.36, 0.8


class BoundError(GuardError):
    """A line is no cell of the bound. The message says which line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One cell: the best that any policy can do, and what the guard does.

    `bound`, `guard`: harm in the worst schedule; escalations, calls and seconds over all.
    """

    contract: str
    name: str
    schedules: int
    is_equal: bool
    bound: Mapping[str, float]
    guard: Mapping[str, float]


def read_bounds(lines: Iterable[str]) -> Iterator[Bound]:
    """Yield the cells of a file that `retry-guard bound --json` wrote.

    Raises `BoundError` for a line that is none.
    """
    for number, line in enumerate(lines, 1):
        try:
            yield _cell(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            msg = f"line {number} is no cell; give a file that `retry-guard bound --json` wrote"
            raise BoundError(msg) from error


def _cell(values: Any) -> Bound:  # noqa: ANN401 - any JSON
    both = (values["bound"], values["guard"])
    bound, guard = ({name: float(vector[name]) for name in _VECTOR} for vector in both)
    return Bound(
        contract=str(values["contract"]),
        name=f"{values['shown']}, hits {values['script']}",
        schedules=max(int(values["schedules"]), 1),
        is_equal=bool(values["equal"]),
        bound=bound,
        guard=guard,
    )


def bounds_part(bounds: Sequence[Bound]) -> Iterator[Node]:
    """Return a chart for each contract."""
    yield tag("h2", {}, "The bound beside the guard")
    equal = sum(one.is_equal for one in bounds)
    yield tag(
        "p",
        {},
        f"The least harm that any policy could do, over all hidden schedules that look alike. "
        f"The guard equals it in {equal} of {len(bounds)} cells.",
    )
    contracts = dict.fromkeys(one.contract for one in bounds)
    yield tag(
        "div",
        {"class": "beside"},
        *(_figure(name, [one for one in bounds if one.contract == name]) for name in contracts),
    )


def _figure(contract: str, cells: Sequence[Bound]) -> Node:
    caption = f"Stated of the write: {contract.replace('_', ' ')}"
    behind = table(f"{caption}, bound/guard", _COLUMNS, map(_texts, cells))
    about = "Share of schedules that end with a person: ring, the bound; dot, the guard."
    return figure(caption, about, _chart(caption, cells), numbers("The numbers", behind))


def _chart(title: str, cells: Sequence[Bound]) -> Node:
    shapes = [shape for row, one in enumerate(cells) for shape in _drawn(one, row * _ROW + 14)]
    bottom = len(cells) * _ROW + 16
    ends = ((_FROM, "none"), (_TO, "all"))
    shapes += [label(x, bottom, name, "side", "middle") for x, name in ends]
    said = "; ".join(
        f"{one.name}: bound {one.bound['escalations']:g} and guard {one.guard['escalations']:g} "
        f"of {one.schedules} schedules escalated, {_verdict(one)}"
        for one in cells
    )
    return drawing(title, said, bottom + 6, *shapes)


def _drawn(one: Bound, y: float) -> Iterator[Node]:
    yield label(0.0, y + 4, one.name, "side")
    yield rule(_FROM, y, _TO, y, "grid")
    for vector, kind, radius in ((one.bound, "ring", "7"), (one.guard, "point", "4")):
        share = min(vector["escalations"] / one.schedules, 1.0)
        place = {"cx": percent(_FROM + share * (_TO - _FROM)), "cy": f"{y:g}", "r": radius}
        yield tag("circle", {**place, "class": kind})
    yield label(1.0, y + 4, _verdict(one), "side" if one.is_equal else "name", "end")


def _verdict(one: Bound) -> str:
    return "equal" if one.is_equal else "differs"


def _texts(one: Bound) -> tuple[str, ...]:
    counts = (f"{one.bound[name]:g}/{one.guard[name]:g}" for name in (*_HARM, "escalations"))
    return (one.name, str(one.schedules), *counts)
