"""Two arms of real models, compared task by task on an end point that is named beforehand.

For each contract and model: a family of one comparison for each fault, adjusted by Holm. Effects
that no intended write accounts for are counted elsewhere, and are in no end point.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from retry_guard_sandbox.grading._census import Census, Draw
from retry_guard_sandbox.grading._statistics import bootstrap, holm, sign_flip, zero_bound
from retry_guard_sandbox.grading._statistics_terms import (
    ALPHA,
    Comparison,
    EndPoint,
    Family,
    Finding,
    Interval,
    is_so,
)
from retry_guard_sandbox.grading._tally import pairs


def compare(
    census: Census, agents: Iterable[str], end_point: EndPoint, *, margin: float, off: str, on: str
) -> list[Family]:
    """Compare two arms. `margin`: how small a difference counts as none."""
    wanted = set(agents)
    families: dict[tuple[str, str], dict[str, dict[str, list[tuple[Draw, Draw]]]]] = {}
    for cell in census.cells:
        if cell.agent in wanted and not cell.is_stray:
            faults = families.setdefault((cell.contract, cell.agent), {})
            tasks = faults.setdefault(cell.fault, {})
            tasks.setdefault(cell.task, []).extend(pairs(census, cell, off, on))
    return [
        Family(contract, agent, tuple(_adjusted(_compared(faults, end_point), margin)))
        for (contract, agent), faults in families.items()
    ]


def _compared(
    faults: Mapping[str, Mapping[str, Sequence[tuple[Draw, Draw]]]], end_point: EndPoint
) -> list[Comparison]:
    drawn = ((fault, [t for t in tasks.values() if t]) for fault, tasks in faults.items())
    return [_comparison(fault, tasks, end_point) for fault, tasks in drawn if tasks]


def _comparison(
    fault: str, tasks: Sequence[Sequence[tuple[Draw, Draw]]], end_point: EndPoint
) -> Comparison:
    offs = [fmean(is_so(off, end_point) for off, _ in task) for task in tasks]
    ons = [fmean(is_so(on, end_point) for _, on in task) for task in tasks]
    differences = [on - off for off, on in zip(offs, ons, strict=True)]
    bound = zero_bound(len(tasks))
    every = [pair for task in tasks for pair in task]
    return Comparison(
        fault=fault,
        tasks=len(tasks),
        off=fmean(offs),
        on=fmean(ons),
        interval=bootstrap(differences),
        p=sign_flip(differences),
        adjusted=1.0,
        finding="undecided",
        off_bound=None if any(offs) else bound,
        on_bound=None if any(ons) else bound,
        errors=(
            sum(off.outcome == "error" for off, _ in every),
            sum(on.outcome == "error" for _, on in every),
        ),
    )


def _adjusted(comparisons: Sequence[Comparison], margin: float) -> Iterable[Comparison]:
    adjusted = holm({one.fault: one.p for one in comparisons})
    for one in comparisons:
        p = adjusted[one.fault]
        yield replace(one, adjusted=p, finding=_finding(p, one.interval, margin))


def _finding(p: float, interval: Interval | None, margin: float) -> Finding:
    if p <= ALPHA:
        return "differs"
    is_small = interval is not None and interval.is_inside(margin)
    return "no difference" if is_small else "undecided"


def by_factors(
    census: Census, agents: Iterable[str], end_point: EndPoint, condition: str, fault: str
) -> dict[tuple[str, ...], list[float]]:
    """Return the draws of one arm under one fault as 0 and 1, by model, contract, harness."""
    wanted, values = set(agents), dict[tuple[str, ...], list[float]]()
    for cell, draws in census.arm(condition):
        if cell.agent in wanted and cell.fault == fault and not cell.is_stray:
            levels = (cell.agent, cell.contract, cell.harness)
            found = (float(is_so(draw, end_point)) for draw in draws.values())
            values.setdefault(levels, []).extend(found)
    return values
