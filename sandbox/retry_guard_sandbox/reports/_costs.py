"""Cost against exactly once: each arm a point, by the virtual seconds of a write."""

from collections.abc import Collection, Iterable, Sequence
from math import log10

from retry_guard_sandbox.reports._lines import Summary
from retry_guard_sandbox.reports._markup import Node, drawing, label, percent, rule, tag

_TOP, _HEIGHT, _BELOW = 16, 220, 44
_LEFT, _RIGHT = 0.12, 0.97
_TICKS = (
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (36_000.0, "10 h"),
    (864_000.0, "10 d"),
)
_NEAR = 0.055
"""Points nearer to each other than this, as shares of both axes, are drawn as one."""

Point = tuple[float, float]


def scatter(title: str, arms: Sequence[Summary], judged: Collection[str]) -> Node:
    """Draw the arms, numbered from 1 in their order; those that are judged stand out."""
    end = _end(arms)
    places = [_place(arm, end) for arm in arms]
    shapes = [*_axes(end)]
    for place, numbers in _clusters(places):
        is_judged = any(arms[number - 1].condition in judged for number in numbers)
        shapes.append(_marked(place, numbers, "point judged" if is_judged else "point"))
    said = "; ".join(
        f"{arm.condition}: {arm.counts.exactly_once} of {arm.counts.cells} cells exactly once, "
        f"half of the writes took at most {arm.seconds.p50:.1f} s"
        for arm in arms
    )
    return drawing(title, said, _TOP + _HEIGHT + _BELOW, *shapes)


def _end(arms: Iterable[Summary]) -> float:
    """Return the seconds at which the axis ends: a little more than the slowest arm took."""
    return max(100.0, *(2.0 * arm.seconds.p50 for arm in arms))


def _x(seconds: float, end: float) -> float:
    return log10(max(seconds, 1.0)) / log10(end)


def _place(arm: Summary, end: float) -> Point:
    return _x(arm.seconds.p50, end), arm.counts.exactly_once / arm.counts.cells


def _clusters(places: Sequence[Point]) -> list[tuple[Point, list[int]]]:
    """Join what would be drawn over each other; return where, and which numbers."""
    clusters: list[tuple[Point, list[int]]] = []
    for number, place in enumerate(places, 1):
        for where, numbers in clusters:
            if all(abs(a - b) < _NEAR for a, b in zip(where, place, strict=True)):
                numbers.append(number)
                break
        else:
            clusters.append((place, [number]))
    return clusters


def _marked(place: Point, numbers: Sequence[int], kind: str) -> Node:
    x, y = _LEFT + place[0] * (_RIGHT - _LEFT), _TOP + (1 - place[1]) * _HEIGHT
    dot = tag("circle", {"cx": percent(x), "cy": f"{y:.1f}", "r": "6", "class": kind})
    is_right = place[0] > 0.8  # noqa: PLR2004 - there the text would leave the drawing
    text = " ".join(map(str, numbers))
    where = {"x": percent(x), "y": f"{y:.1f}", "dx": "-11" if is_right else "11", "dy": "5"}
    anchor = {"text-anchor": "end" if is_right else "start", "class": "number"}
    return tag("g", {}, dot, tag("text", {**where, **anchor}, text))


def _axes(end: float) -> Iterable[Node]:
    bottom = float(_TOP + _HEIGHT)
    for share, name in ((0.0, "none"), (0.5, "half"), (1.0, "all")):
        y = _TOP + (1 - share) * _HEIGHT
        yield rule(_LEFT, y, _RIGHT, y, "grid")
        yield label(0.0, y + 4, name, "side")
    for tick, name in _TICKS:
        if tick <= end:
            x = _LEFT + _x(tick, end) * (_RIGHT - _LEFT)
            yield rule(x, _TOP, x, bottom, "grid")
            yield label(x, bottom + 16, name, "side", "middle")
    yield label(_RIGHT, bottom + 36, "virtual time of a write (half take at most)", "side", "end")
