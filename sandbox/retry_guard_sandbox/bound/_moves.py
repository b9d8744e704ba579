"""What a policy may do next."""

from collections.abc import Iterator
from math import inf, isfinite
from typing import Literal, NamedTuple

from retry_guard_sandbox.bound._beliefs import Belief, History, decisive
from retry_guard_sandbox.bound._game import SHOWN_AFTER, Cell
from retry_guard_sandbox.bound._schedules import counts
from retry_guard_sandbox.bound._value import Claim


class Move(NamedTuple):
    """One thing to do. `anew`: send with a fresh key, or with none where the tool takes none.

    `reissue`: send with the recorded key. `until`: when a send begins, or a wait ends. `parts`:
    what a send asks for. `claim`: what a stop says.
    """

    kind: Literal["reissue", "anew", "read", "wait", "ask", "stop"]
    until: float = 0.0
    parts: tuple[int, ...] = ()
    claim: Claim = "unknown"


def first(cell: Cell) -> Move:
    """Return the move that every play begins with."""
    return Move("anew", parts=tuple(range(cell.tool.parts)))


def moves(cell: Cell, belief: Belief) -> Iterator[Move]:
    """Yield every legal move; those that end a play first, so that others can be ruled out."""
    tool, rules, history = cell.tool, cell.rules, belief.history
    for claim in _claims(cell, history):
        yield Move("stop", claim=claim)
    if rules.operator and not history.cleared and not _time_alone_tells(cell, belief):
        yield Move("ask")
    if tool.lag is not None and _may_look(history, rules.deadline):
        yield Move("read")
    until = belief.next_change(cell)
    if until <= rules.deadline:
        yield Move("wait", until)
    yield from _sends(cell, history)


def _claims(cell: Cell, history: History) -> Iterator[Claim]:
    if cell.rules.deadline < decisive(cell, history) < inf:
        yield "later"
    yield from ("unknown", "done", "not done")


def _sends(cell: Cell, history: History) -> Iterator[Move]:
    rules, every = cell.rules, tuple(range(cell.tool.parts))
    begin = max(history.now, history.ended + rules.pause(history.tries))
    in_time = begin + SHOWN_AFTER["timeout"] <= rules.deadline and history.tries < rules.attempts
    if cell.tool.keyed and in_time and not history.cleared:
        yield Move("reissue", begin, every)
    fits = history.now <= rules.deadline and history.fresh < rules.fresh_sends
    if history.cleared or fits:
        yield Move("anew", history.now, history.missing or every)


def _may_look(history: History, deadline: float) -> bool:
    """A second look at one moment shows nothing new; past the deadline each send has one look."""
    if history.now <= deadline:
        return history.looked != history.now
    return history.looked is None


def _time_alone_tells(cell: Cell, belief: Belief) -> bool:
    """Whether nobody is asked yet, since a later look will settle it."""
    now = belief.history.now
    if not isfinite(cell.tool.bound) or now >= decisive(cell, belief.history):
        return False
    return any(max(counts(e, cell.tool.parts, now)) <= 1 for e, _ in belief.possible)
