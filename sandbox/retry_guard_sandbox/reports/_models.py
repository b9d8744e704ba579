"""The part of a report that is about real models: statistics, with the task as the unit."""

from dataclasses import dataclass

from retry_guard import GuardError
from retry_guard_sandbox.grading._census import Census
from retry_guard_sandbox.grading._statistics_shares import Levels, ShareError, Shares, shares
from retry_guard_sandbox.grading._statistics_terms import EndPoint, Family
from retry_guard_sandbox.reports._failings import is_scripted
from retry_guard_sandbox.reports._verdict import (
    Frame,
    judged,
)

END_POINT: EndPoint = "duplicate"
MARGIN = 0.05
"""A difference of fewer than five writes in a hundred counts as none."""


class StatisticsError(GuardError):
    """The statistics cannot be computed. The message says what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """What accounts for the end point under one fault, in one arm; or why nobody can say."""

    condition: str
    fault: str
    shares: Shares | None
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The comparisons of each model and contract, and what accounts for the outcomes."""

    end_point: EndPoint
    margin: float
    families: tuple[Family, ...]
    accounted: tuple[Accounted, ...]


def models_of(census: Census, frame: Frame, end_point: EndPoint, margin: float) -> Models | None:
    """Compare the first subject with the baseline; None: no model took part in both arms.

    Raises `StatisticsError` where numpy or scipy is not installed.
    """
    agents = {cell.agent for cell in census.cells if not is_scripted(cell.agent)}
    subjects = judged(census, frame)
    baseline = frame.baseline
    if not agents or baseline is None or not subjects or baseline not in census.conditions:
        return None
    try:
        from retry_guard_sandbox.grading._statistics_paired import (  # noqa: PLC0415 - scipy: slow
            by_factors,
            compare,
        )
    except ImportError as error:
        msg = f"no {error.name}: statistics of models need pip install agent-retry-guard[sandbox]"
        raise StatisticsError(msg) from error
    families = compare(census, agents, end_point, margin=margin, off=baseline, on=subjects[0])
    faults = dict.fromkeys(cell.fault for cell in census.cells)
    accounted = [
        _accounted(condition, fault, by_factors(census, agents, end_point, condition, fault))
        for condition in (baseline, subjects[0])
        for fault in faults
    ]
    return Models(
        end_point=end_point,
        margin=margin,
        families=tuple(families),
        accounted=tuple(accounted),
    )


FACTORS = ("model", "contract", "harness")


def _accounted(condition: str, fault: str, values: dict[Levels, list[float]]) -> Accounted:
    """Leave out the factors that do not vary, then share out what is left."""
    varying = [i for i in range(len(FACTORS)) if len({levels[i] for levels in values}) > 1]
    reduced = {tuple(levels[i] for i in varying): cell for levels, cell in values.items()}
    try:
        found = shares([FACTORS[i] for i in varying], reduced)
    except ShareError as error:
        return Accounted(condition=condition, fault=fault, shares=None, why_not=str(error))
    return Accounted(condition=condition, fault=fault, shares=found)
