"""The game that the bound is about: a write under way, what is shown of it, what may be done.

Nothing of the guard is in here, nor anything else of the sandbox: these are plain numbers.
Every duration is in seconds.
"""

from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Literal

Shown = Literal["timeout", "error", "reset"]
Script = Literal["1", "2", "all"]

SHOWN: tuple[Shown, ...] = ("timeout", "error", "reset")
SCRIPTS: tuple[Script, ...] = ("1", "2", "all")

SHOWN_AFTER = MappingProxyType[Shown, float]({"timeout": 10.0, "error": 0.5, "reset": 0.25})
"""How long after a send its client is shown that something went wrong."""
ANSWERED_AFTER = 0.5
"""How long after a send its client has the answer, where nothing goes wrong."""


SHORTEST = 720.0
"""Seconds for which a key must be remembered: longer than a call, with all that it left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What is known of a write: no more than its contract says, and all of it is true.

    `keyed`: a key makes a repeat harmless, for `retention`. `lag`: a read shows every effect this
    long after it, in a list that is whole and keeps what it has; None: there is no read.
    `bound`: a request that has not run this long after its client gave up never will.
    `parts`: items that are committed one by one; with a key a repeat does what is missing.
    """

    keyed: bool = False
    retention: float = 86_400.0
    lag: float | None = None
    bound: float = inf
    parts: int = 1

    def __post_init__(self) -> None:
        """Refuse a key that could be forgotten within a call: raises `ValueError`."""
        if self.keyed and self.retention < SHORTEST:
            raise ValueError(f"retention {self.retention:g}: give at least {SHORTEST:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What limits every policy alike; the first five mean what they mean in the guard's policy.

    The number of schedules is a power of `attempts`, so there are fewer than the guard's default.
    `deadline`: so long after the first send nothing is waited for any more, and only one look
    after a send is left; a re-issue begins only if its client's time-out would end by then.
    `operator`: there is a person to ask, who answers once: stops
    what is in flight, says what happened, and sees to it that the next send is answered.
    """

    attempts: int = 2
    fresh_sends: int = 2
    backoff: float = 0.5
    backoff_limit: float = 30.0
    deadline: float = 60.0
    operator: bool = True

    def pause(self, tries: int) -> float:
        """Return the pause before a re-issue, after so many of them."""
        return min(self.backoff * 2.0**tries, self.backoff_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One game: what a policy knows before it begins.

    `shown`: what it sees of each attempt that is hit. `script`: how many are.
    """

    tool: Tool
    shown: Shown
    script: Script
    rules: Rules = field(default_factory=Rules)

    @property
    def shown_after(self) -> float:
        """Seconds from a send that is hit until that is shown."""
        return SHOWN_AFTER[self.shown]

    @property
    def repeats(self) -> int:
        """How many attempts are hit, where the write is re-issued as often as it may be."""
        most = 1 + self.rules.attempts if self.tool.keyed else 1
        return most if self.script == "all" else min(most, int(self.script))

    def hits(self, attempt: int) -> bool:
        """Whether an attempt is hit, counted from 1; the others are answered as usual."""
        return self.script == "all" or attempt <= int(self.script)
