"""The words of the statistics, which need nothing that is slow to import."""

from dataclasses import dataclass
from typing import Literal, assert_never, get_args

from retry_guard_sandbox.grading._census import Draw

CONFIDENCE = 0.95
ALPHA = 0.05

EndPoint = Literal[
    "duplicate", "omission", "divergent", "error", "exactly_once", "false_completion"
]
END_POINTS: tuple[EndPoint, ...] = get_args(EndPoint)
"""What may be compared: each is the share of writes that came out so. An error is an outcome of
its own: it stays in, and counts as none of the others."""

Finding = Literal["differs", "no difference", "undecided"]


def is_so(draw: Draw, end_point: EndPoint) -> bool:
    """Whether a draw came out as the end point says."""
    match end_point:
        case "false_completion":
            return draw.is_false_completion and draw.outcome != "error"
        case "duplicate" | "omission" | "divergent" | "error" | "exactly_once":
            return draw.outcome == end_point
        case _:
            assert_never(end_point)


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, with `CONFIDENCE`."""

    low: float
    high: float

    def is_inside(self, margin: float) -> bool:
        """Whether all of it is nearer to zero than `margin`."""
        return -margin < self.low and self.high < margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One fault: shares of writes, averaged within each task and then over tasks.

    `off_bound`, `on_bound`: where an arm never came out so, the rate that the number of tasks
    leaves possible. `errors`: writes of both arms that ended in one.
    """

    fault: str
    tasks: int
    off: float
    on: float
    interval: Interval | None
    p: float
    adjusted: float
    finding: Finding
    off_bound: float | None
    on_bound: float | None
    errors: tuple[int, int]

    @property
    def difference(self) -> float:
        """Mean over tasks of the paired difference, `on` less `off`."""
        return self.on - self.off

    @property
    def off_text(self) -> str:
        """The share in the first arm, with the bound of a zero."""
        return _share_text(self.off, self.off_bound)

    @property
    def on_text(self) -> str:
        """The share in the second arm, with the bound of a zero."""
        return _share_text(self.on, self.on_bound)


def _share_text(share: float, bound: float | None) -> str:
    return f"{share:.3f}" if bound is None else f"0 (≤{f'{bound:.2f}'.lstrip('0')})"


@dataclass(frozen=True, slots=True)
class Family:
    """The comparisons that were asked together, and are adjusted together."""

    contract: str
    agent: str
    comparisons: tuple[Comparison, ...]
