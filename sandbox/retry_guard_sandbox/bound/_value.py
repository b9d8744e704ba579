"""What a policy is judged by: one vector, compared from left to right."""

from typing import NamedTuple

from retry_guard_sandbox.bound._schedules import Effects, counts, surplus


class Value(NamedTuple):
    """What comes of a policy over a set of schedules; smaller is better.

    `duplicates`: beyond those that one send makes. `false`: ends that are not true: done, and
    it was not exactly once; not done, and something had happened. `omissions`: schedules at
    whose end something is missing. Of these three the worst schedule counts first, and then the
    sum. `escalations`: times the operator was asked, or an end was left to a person. `calls`:
    requests, the first send included. `seconds`: until the end. All sums are weighted.
    """

    worst_duplicates: int = 0
    duplicates: int = 0
    worst_false: int = 0
    false: int = 0
    worst_omissions: int = 0
    omissions: int = 0
    escalations: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def harm(self) -> tuple[int, ...]:
        """Components (1) to (3), all that equality is demanded of."""
        return self[:7]

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


def ended(claim: str, effects: Effects, parts: int, weight: int) -> Value:
    """Return what an end is worth, in a schedule with these effects: `done` or `not done`.

    Any other claim says nothing that could be false.
    """
    made = counts(effects, parts, float("inf"))
    once, missing, extra = set(made) == {1}, int(0 in made), surplus(effects)
    false = int((claim == "done" and not once) or (claim == "not done" and any(made)))
    return Value(
        worst_duplicates=extra,
        duplicates=extra * weight,
        worst_false=false,
        false=false * weight,
        worst_omissions=missing,
        omissions=missing * weight,
    )
