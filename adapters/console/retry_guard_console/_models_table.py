"""Statistics of agents that are models, as tables."""

from typing import TYPE_CHECKING

from retry_guard_console._columns import folded, numbers
from retry_guard_console._shared import show, shown

if TYPE_CHECKING:
    from retry_guard_sandbox import Models

_SMALL = 0.001


def print_models(models: "Models") -> None:
    """Print what was compared, a table for each family."""
    print(
        f"\nModels, by task. End point: {models.end_point}. Means over tasks, off and on, their"
        f"\ndifference with 95 % interval, p by Holm; no difference: inside ±{models.margin:g}"
    )
    for family in models.families:
        made = numbers(("fault", "tasks", "off", "on", "differ- ence", "interval", "p", "finding"))
        for one in family.comparisons:
            ends = one.interval
            made.add_row(
                folded(one.fault),
                str(one.tasks),
                one.off_text,
                one.on_text,
                f"{one.difference:+.2f}",
                "" if ends is None else f"{ends.low:+.2f} {ends.high:+.2f}",
                f"{one.adjusted:.3f}" if one.adjusted >= _SMALL else f"<{_SMALL:g}",
                one.finding,
            )
        print(f"\nContracts: {family.contract}. Model: {shown(family.agent)}")
        show(made)
