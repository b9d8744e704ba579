"""What `retry-guard bound --json` writes of a cell."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retry_guard_sandbox import bound


def line(one: "bound.Comparison") -> dict[str, object]:
    """Return a cell as JSON: both vectors, by the outcome of the first attempt."""
    return {
        "contract": one.contract,
        "shown": one.cell.shown,
        "script": one.cell.script,
        "schedules": one.schedules,
        "equal": one.is_equal,
        "breach": one.breach,
        "bound": _vector(one.best),
        "guard": _vector(one.real),
        "outcomes": [
            {
                "hidden": outcome.hidden,
                "after": outcome.after,
                "bound": _vector(value),
                "guard": _vector(one.guard[outcome]),
            }
            for outcome, value in one.bound.items()
        ],
    }


def _vector(value: "bound.Value") -> dict[str, float]:
    return {**value._asdict(), "seconds": round(value.seconds, 3)}
