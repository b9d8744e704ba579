"""What a report concludes: pass, block, or inconclusive, and from what."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from retry_guard_sandbox.grading._census import Census
from retry_guard_sandbox.grading._statistics_terms import Comparison, EndPoint, Family
from retry_guard_sandbox.grading._tally import unpaired
from retry_guard_sandbox.reports._failings import is_duplicate

Verdict = Literal["pass", "block", "inconclusive"]
EXIT_CODES: Mapping[Verdict, int] = MappingProxyType({"pass": 0, "block": 1, "inconclusive": 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Which arms are judged (`subjects`), and which one they are held against, if any."""

    baseline: str | None
    subjects: tuple[str, ...]


SENT_AGAIN = "it was sent more than once"
RAN_TWICE = "one send itself ran twice: no client can prevent it"


class Left(NamedTuple):
    """Where duplicates are left, and why. `place`: contract, fault and tool."""

    place: str
    cells: int
    draws: int
    reason: str

    @property
    def many(self) -> str:
        """How many there are."""
        return f"{self.cells} cell{'s' if self.cells > 1 else ''}, {self.draws} draws"

    def __str__(self) -> str:
        """All of it, in one line."""
        return f"{self.place}: {self.many} ({self.reason})"


AB = Frame(baseline="no_guard", subjects=("guard", "guard_hidden_key"))
"""The guard against no guard; every other arm is shown, and not judged."""


def judged(census: Census, frame: Frame) -> tuple[str, ...]:
    """Return the subjects that there are."""
    return tuple(name for name in census.conditions if name in frame.subjects)


def left(census: Census, subjects: Iterable[str]) -> Iterator[Left]:
    """Say where the subjects leave duplicates, and why."""
    places: dict[tuple[str, str, str, bool], list[int]] = {}
    for subject in subjects:
        for cell, draws in census.arm(subject):
            for resent in (False, True):
                if count := sum(is_duplicate(d) and d.resent is resent for d in draws.values()):
                    place = (cell.contract, cell.fault, cell.tool, resent)
                    places.setdefault(place, []).append(count)
    for (contract, fault, tool, resent), counts in places.items():
        reason = SENT_AGAIN if resent else RAN_TWICE
        yield Left(f"{contract} {fault} {tool}", len(counts), sum(counts), reason)


def doubts(census: Census, frame: Frame) -> list[str]:
    """Say what keeps the report from telling."""
    found = [f"episodes that ended in an error: {', '.join(sorted(census.errors))}"]
    found = found if census.errors else []
    subjects = judged(census, frame)
    wanted = frame.baseline
    missing = [] if wanted is None or wanted in census.conditions else [wanted]
    missing += [] if subjects else [frame.subjects[0]]
    found += [f"no episode of the arm {arm}: nothing to compare" for arm in missing]
    if wanted is not None and not missing:
        alone = sum(unpaired(census, wanted, subject) for subject in subjects)
        found += [f"{alone} draws that one of the arms lacks"] if alone else []
    return found


def statistical(
    families: Iterable[Family], end_point: EndPoint, margin: float
) -> tuple[list[str], list[str]]:
    """Return where models did worse with the guard, and where that cannot be excluded."""
    worse, unknown = list[str](), list[str]()
    for family in families:
        for one in family.comparisons:
            name = f"{family.contract} {one.fault} {family.agent}: {end_point}"
            most = _worse_by(one, end_point)
            if one.finding == "differs" and most > 0:
                worse.append(f"{name} worse with the guard")
            elif one.finding != "differs" and most >= margin:
                unknown.append(f"{name} may be worse by {most:.2f}: more tasks could tell")
    return worse, unknown


def _worse_by(one: Comparison, end_point: EndPoint) -> float:
    """Return how much worse it is, or without a clear difference, may be."""
    low, high = (
        (one.difference, one.difference)
        if one.finding == "differs"
        else (-1.0, 1.0)
        if one.interval is None
        else (one.interval.low, one.interval.high)
    )
    return -low if end_point == "exactly_once" else high
