"""The part of the page that is about real models: differences with their intervals."""

from collections.abc import Iterator, Sequence

from retry_guard_sandbox.grading._statistics_terms import Comparison, Family
from retry_guard_sandbox.reports._markup import (
    Node,
    bar,
    drawing,
    figure,
    label,
    listed,
    numbers,
    percent,
    rule,
    table,
    tag,
)
from retry_guard_sandbox.reports._models import Accounted, Models

_COLUMNS = (
    *("fault", "tasks", "off", "on", "difference", "95 % from", "to", "p", "p (Holm)"),
    *("errors off/on", "finding"),
)
_AXIS = ((-1.0, "-1"), (0.0, "0"), (1.0, "+1"))
_ROW, _TOP = 44, 10


def models_part(models: Models) -> Iterator[Node]:
    """Return what models did, by family of comparisons, and what accounts for it."""
    yield tag("h2", {}, f"Models: {models.end_point.replace('_', ' ')}")
    yield tag(
        "p",
        {},
        "The unit is the task: shares of its writes, then means over tasks. The band is what "
        f"counts as no difference (±{models.margin:g}); an interval that leaves it stays open.",
    )
    for family in models.families:
        caption = f"{family.agent}, contracts {family.contract}: on less off"
        about = "Left: fewer with the guard. The dot is the mean over tasks, the line its interval."
        behind = table(
            caption, (*_COLUMNS, "errors off/on", "finding"), map(_texts, family.comparisons)
        )
        yield figure(
            caption, about, _forest(caption, family, models.margin), numbers("The numbers", behind)
        )
    yield numbers("What accounts for it (Shapley shares)", listed(map(_share, models.accounted)))


def _forest(title: str, family: Family, margin: float) -> Node:
    comparisons = family.comparisons
    height = _TOP + _ROW * len(comparisons) + 22
    low, high = _x(-margin), _x(margin)
    shapes = [
        bar(low, _TOP, high - low, height - _TOP - 22, "margin"),
        rule(_x(0), _TOP, _x(0), height - 22, "zero"),
        *(
            label(_x(at), height - 6, f"{at:+g}" if at else "0", "side", "middle")
            for at in (-1.0, 0.0, 1.0)
        ),
    ]
    for row, one in enumerate(comparisons):
        shapes.extend(_drawn(one, _TOP + row * _ROW))
    said = "; ".join(f"{one.fault} {one.difference:+.3f}, {one.finding}" for one in comparisons)
    return drawing(title, said, height, *shapes)


def _drawn(one: Comparison, y: float) -> Iterator[Node]:
    yield label(0.0, y + 14, one.fault, "name")
    yield label(1.0, y + 14, one.finding, "side", "end")
    middle = y + 28
    if one.interval is not None:
        yield rule(_x(one.interval.low), middle, _x(one.interval.high), middle, "interval")
    place = {"cx": percent(_x(one.difference)), "cy": f"{middle:g}", "r": "5", "class": "point"}
    yield tag("circle", place)


def _x(difference: float) -> float:
    """Return where a difference between -1 and 1 stands."""
    return 0.04 + 0.92 * (difference + 1) / 2


def _texts(one: Comparison) -> Sequence[str]:
    ends = ("", "") if one.interval is None else (one.interval.low, one.interval.high)
    return (
        one.fault,
        str(one.tasks),
        one.off_text,
        one.on_text,
        f"{one.difference:+.3f}",
        *(end if isinstance(end, str) else f"{end:+.3f}" for end in ends),
        f"{one.p:.4f}",
        f"{one.adjusted:.4f}",
        f"{one.errors[0]}/{one.errors[1]}",
        one.finding,
    )


def _share(one: Accounted) -> str:
    place = f"{one.fault}, {one.condition}"
    if one.shares is None:
        return f"{place}: {one.why_not}"
    parts = ", ".join(f"{factor} {share:.2f}" for factor, share in one.shares.of.items())
    return f"{place}: {parts}; together {one.shares.explained:.2f} of the variance"
