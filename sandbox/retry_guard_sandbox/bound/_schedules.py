"""Hidden schedules: what may really become of each attempt that is hit, while its bytes are equal.

A schedule says for each such attempt one `Outcome` of `outcomes(cell)`, independently of the
others. Commit times lie on a grid: at once; one second after the client was shown something, so
that a look there comes too early; the middle and the end of a tail; and the last moment that the
contract allows. That suffices. A policy acts at moments of its own, so a commit time matters
only by its order among them: it lies before the first look, between two, after the last look
before the deadline, or after the end. Each of these has its point, and moving a commit time
without passing one of a policy's moments changes nothing that the policy sees or causes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple

from retry_guard_sandbox.bound._game import Cell

Hidden = Literal["not executed", "executed", "late", "partial", "redelivered"]

AT_ONCE = 0.1
"""Seconds from a send to its arrival, where nothing holds it up."""
TAIL = (28.0, 45.0)
"""Middle and end of the usual delay of a late request, in seconds from its send."""
SOON = 0.3
"""Seconds from what the client is shown to a commit that its first look has just missed."""
MARGIN = 2.3
"""Seconds before the deadline at which a commit becomes visible that only a last look can see."""
HEAVY_TAIL = 3_600.0
"""Seconds after the deadline: later than anything that a call does."""
BEFORE_FORGOTTEN = 600.0
"""Seconds by which the last arrival precedes the end of a key's retention: longer than a call."""


class Outcome(NamedTuple):
    """What became of one attempt: so many copies of it arrived, `after` seconds from its send.

    A partial one stops after the first of the parts that it would have done.
    """

    hidden: Hidden
    after: float = 0.0
    copies: int = 1


class Effect(NamedTuple):
    """What an arrival commits, now or later. `send`, `key` and `part` count from 0."""

    at: float
    send: int
    key: int
    part: int


Effects = tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """One attempt of the policy. `parts`: those that it asks for."""

    number: int
    begun: float
    key: int
    parts: tuple[int, ...]


def outcomes(cell: Cell) -> tuple[Outcome, ...]:
    """Return all that may become of an attempt that is hit."""
    partial = [Outcome("partial", AT_ONCE)] if cell.tool.parts > 1 else []
    return (
        Outcome("not executed", copies=0),
        Outcome("executed", AT_ONCE),
        *(Outcome("late", after) for after in _late(cell)),
        *partial,
        Outcome("redelivered", AT_ONCE, copies=2),
    )


def _late(cell: Cell) -> Iterable[float]:
    tool, shown = cell.tool, cell.shown_after
    if isfinite(tool.bound):
        return (shown + SOON, shown + tool.bound)
    last = tool.retention - BEFORE_FORGOTTEN if tool.keyed else cell.rules.deadline + HEAVY_TAIL
    just_seen = cell.rules.deadline - (tool.lag or 0.0) - MARGIN
    return sorted({shown + SOON, *TAIL, just_seen, last})


def arrived(effects: Effects, send: Send, outcome: Outcome, *, keyed: bool) -> Effects:
    """Return the effects, with those of an attempt.

    Of equal keys only the first arrival has an effect, whichever attempt it belongs to.
    """
    at = send.begun + outcome.after
    parts = list(send.parts)
    if outcome.hidden == "partial":
        done = {e.part for e in effects if keyed and e.key == send.key and e.at <= at}
        parts = [part for part in parts if part not in done][:1]
    new = [Effect(at, send.number, send.key, p) for p in parts for _ in range(outcome.copies)]
    both = sorted((*effects, *new))
    if not keyed:
        return tuple(both)
    first: dict[tuple[int, int], Effect] = {}
    for effect in both:
        first.setdefault((effect.key, effect.part), effect)
    return tuple(first.values())


def is_known(effects: Effects, send: Send) -> bool:
    """Whether all that a keyed attempt asks for was done before it leaves: it changes nothing."""
    done = {effect.part for effect in effects if effect.key == send.key and effect.at <= send.begun}
    return done >= set(send.parts)


def counts(effects: Effects, parts: int, until: float) -> tuple[int, ...]:
    """Return how often each part was done up to a moment."""
    done = [effect.part for effect in effects if effect.at <= until]
    return tuple(done.count(part) for part in range(parts))


def surplus(effects: Effects) -> int:
    """Return the duplicates beyond those that one send makes: sends that did a part once more."""
    return len({(e.send, e.part) for e in effects}) - len({e.part for e in effects})
