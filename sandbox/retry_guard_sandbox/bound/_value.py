"""What a policy is judged by: one vector, compared from left to right."""

from collections.abc import Iterable
from functools import cache
from math import inf
from typing import Literal, NamedTuple

from retry_guard_sandbox.bound._schedules import Effects, counts, surplus

Claim = Literal["done", "not done", "unknown", "later", "told"]
"""How a play ends. `unknown`: left to a person. `later`: it is known when it will be known, and
that is past the deadline. `told`: the operator has the last word."""


class Value(NamedTuple):
    """What comes of a policy over a set of schedules; smaller is better.

    `duplicates`: beyond those that one send makes. `false`: ends that are not true: done, and
    it was not exactly once; not done, and something had happened. `omissions`: schedules at
    whose end something is missing. Of these three the worst schedule counts first, then the sum.
    `escalations`: times the operator was asked, or an end was left to a person or a later call.
    `calls`: requests, the first send included. `seconds`: until the end. Sums are weighted.
    """

    worst_duplicates: int = 0
    duplicates: float = 0
    worst_false: int = 0
    false: float = 0
    worst_omissions: int = 0
    omissions: float = 0
    escalations: float = 0
    calls: float = 0
    seconds: float = 0.0

    @property
    def compared(self) -> tuple[int, int, int, float]:
        """Components (1) to (3): the worst schedule's harm, and the sum of escalations."""
        return self.worst_duplicates, self.worst_false, self.worst_omissions, self.escalations

    @property
    def is_exactly_once(self) -> bool:
        """Whether no schedule has a duplicate, a false end or an omission."""
        return self.compared[:3] == (0, 0, 0)

    def plus(self, other: "Value") -> "Value":
        """Return the value over both sets of schedules."""
        return Value(
            max(self.worst_duplicates, other.worst_duplicates),
            self.duplicates + other.duplicates,
            max(self.worst_false, other.worst_false),
            self.false + other.false,
            max(self.worst_omissions, other.worst_omissions),
            self.omissions + other.omissions,
            self.escalations + other.escalations,
            self.calls + other.calls,
            self.seconds + other.seconds,
        )

    def times(self, weight: int) -> "Value":
        """Return the value over so many schedules that are alike."""
        return self._replace(
            duplicates=self.duplicates * weight,
            false=self.false * weight,
            omissions=self.omissions * weight,
            escalations=self.escalations * weight,
            calls=self.calls * weight,
            seconds=self.seconds * weight,
        )

    def over(self, divisor: int) -> "Value":
        """Return the value over a coarser set: sums that `divisor` divides stay whole."""
        return self._replace(
            duplicates=_shared(self.duplicates, divisor),
            false=_shared(self.false, divisor),
            omissions=_shared(self.omissions, divisor),
            escalations=_shared(self.escalations, divisor),
            calls=_shared(self.calls, divisor),
            seconds=self.seconds / divisor,
        )


def total(values: Iterable[Value]) -> Value:
    """Return the value over several sets of schedules."""
    together = Value()
    for value in values:
        together = together.plus(value)
    return together


def _shared(number: float, divisor: int) -> float:
    whole, rest = divmod(number, divisor)
    return number / divisor if rest else whole


@cache
def harm(claim: Claim, effects: Effects, parts: int) -> tuple[int, int, int]:
    """Return duplicates, false ends and omissions, where a play ends so with these effects."""
    return judged(claim, counts(effects, parts, inf), surplus(effects))


def judged(claim: Claim, made: tuple[int, ...], extra: int) -> tuple[int, int, int]:
    """Return duplicates, false ends and omissions, where each part was made so often.

    Only `done` and `not done` can be false. What is left for `later` is still under way, and what
    the operator gives up (`told`) is known to a person, item by item: neither is omitted.
    """
    once = set(made) == {1}
    false = (claim == "done" and not once) or (claim == "not done" and any(made))
    return extra, int(false), int(0 in made and claim not in {"later", "told"})
