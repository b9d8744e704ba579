"""What a policy may do next, and what it then sees."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Literal, NamedTuple, assert_never

from retry_guard_sandbox.bound._beliefs import Belief, History, decisive, merged
from retry_guard_sandbox.bound._game import ANSWERED_AFTER, Cell
from retry_guard_sandbox.bound._schedules import (
    AT_ONCE,
    Effects,
    Outcome,
    Send,
    arrived,
    counts,
    is_known,
    outcomes,
)

Claim = Literal["done", "not done", "unknown", "told"]


class Move(NamedTuple):
    """`reissue`: send with the recorded key. `anew`: send with a fresh key, or with none.

    `wait`: until that time. `stop`: say so. `parts`: what a send asks for.
    """

    kind: Literal["reissue", "anew", "read", "wait", "ask", "stop"]
    until: float = 0.0
    parts: tuple[int, ...] = ()
    claim: Claim = "unknown"


Seen = tuple[object, ...]


class End(NamedTuple):
    """The play is over for these schedules. `told`: the operator has the last word."""

    claim: Claim
    effects: Effects
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a move costs in each schedule, and where it leads, by what is seen."""

    calls: int = 0
    escalations: int = 0
    seconds: float = 0.0
    after: Mapping[Seen, Belief] = field(default_factory=dict[Seen, Belief])
    ends: tuple[End, ...] = ()


FIRST = Move("anew")


def moves(cell: Cell, belief: Belief) -> Iterator[Move]:
    """Yield every legal move; the safest first, so that others can be ruled out by it."""
    tool, rules, history = cell.tool, cell.rules, belief.history
    last = rules.deadline
    for claim in ("unknown", "done", "not done"):
        yield Move("stop", claim=claim)
    if history.answers < rules.answers and not _time_alone_tells(cell, belief):
        yield Move("ask")
    if tool.lag is not None and _may_look(history, last):
        yield Move("read")
    until = belief.next_change(cell)
    if until <= last:
        yield Move("wait", until)
    begin = max(history.now, history.ended + rules.pause(history.tries))
    every = tuple(range(tool.parts))
    if tool.keyed and not history.cleared and history.tries < rules.attempts and begin <= last:
        yield Move("reissue", begin, every)
    if history.cleared or (history.fresh < rules.fresh_sends and history.now <= last):
        yield Move("anew", history.now, history.missing or every)


def _may_look(history: History, last: float) -> bool:
    """A second look at one moment shows nothing new; past the deadline, each send has one look."""
    if history.now <= last:
        return history.looked != history.now
    return history.looked is None


def _time_alone_tells(cell: Cell, belief: Belief) -> bool:
    """Whether nobody is asked yet, since a later look will settle it."""
    now = belief.history.now
    if not isfinite(cell.tool.bound) or now >= decisive(cell, belief.history):
        return False
    return any(max(counts(e, cell.tool.parts, now)) <= 1 for e, _ in belief.possible)


def take(cell: Cell, belief: Belief, move: Move) -> Step:
    """Return what comes of a move. A part of a belief leads to the same part of what follows."""
    match move.kind:
        case "reissue" | "anew":
            return _send(cell, belief, move)
        case "read":
            return _read(cell, belief)
        case "wait":
            history = replace(belief.history, now=move.until)
            waited = move.until - belief.history.now
            return Step(seconds=waited, after={(): Belief(history, belief.possible)})
        case "ask":
            return _ask(cell, belief)
        case "stop":
            ends = tuple(End(move.claim, *possible) for possible in belief.possible)
            return Step(escalations=int(move.claim == "unknown"), ends=ends)
        case _:
            assert_never(move.kind)


def _send(cell: Cell, belief: Belief, move: Move) -> Step:
    before = belief.history
    after = _after_send(before, move)
    send = Send(after.sends, move.until, after.key, move.parts)
    if not cell.hits(after.sends):
        usual = Outcome("executed", AT_ONCE, 1, move.parts)
        ends = tuple(
            End("done", arrived(effects, send, usual, keyed=cell.tool.keyed), weight)
            for effects, weight in belief.possible
        )
        return Step(calls=1, seconds=move.until + ANSWERED_AFTER - before.now, ends=ends)
    shown = move.until + cell.shown_after
    history = replace(after, now=shown, ended=shown)
    left = merged(history, _branches(cell, belief.possible, send))
    return Step(calls=1, seconds=shown - before.now, after={(): left})


def _after_send(before: History, move: Move) -> History:
    sends = before.sends + 1
    if move.kind == "reissue":
        return replace(before, sends=sends, tries=before.tries + 1, looked=None)
    uncleared = before.sends > 0 and not before.cleared
    history = replace(before, sends=sends, tries=0, looked=None, cleared=False)
    return replace(history, key=before.key + 1, fresh=before.fresh + uncleared)


def _branches(
    cell: Cell, possible: Iterable[tuple[Effects, int]], send: Send
) -> Iterator[tuple[Effects, int]]:
    every, keyed = outcomes(cell), cell.tool.keyed
    for effects, weight in possible:
        if keyed and is_known(effects, send):
            yield effects, weight
        else:
            for outcome in every:
                yield arrived(effects, send, outcome, keyed=keyed), weight // len(every)


def _read(cell: Cell, belief: Belief) -> Step:
    history, tool = belief.history, cell.tool
    groups: defaultdict[Seen, list[tuple[Effects, int]]] = defaultdict(list)
    for effects, weight in belief.possible:
        shown = counts(effects, tool.parts, history.now - (tool.lag or 0.0))
        groups[shown].append((effects, weight))
    after = {
        shown: merged(replace(history, looked=history.now, missing=_missing(shown)), group)
        for shown, group in groups.items()
    }
    return Step(calls=1, after=after)


def _ask(cell: Cell, belief: Belief) -> Step:
    """Let the operator stop what is in flight, and answer truthfully."""
    history = belief.history
    ends: list[End] = []
    groups: defaultdict[Seen, list[tuple[Effects, int]]] = defaultdict(list)
    for effects, weight in belief.possible:
        fenced = tuple(effect for effect in effects if effect.at <= history.now)
        made = counts(fenced, cell.tool.parts, inf)
        if 0 in made and max(made) <= 1:
            groups[made].append((fenced, weight))
        else:
            ends.append(End("done" if max(made) == 1 else "told", fenced, weight))
    told = replace(history, answers=history.answers + 1, cleared=True)
    after = {
        made: merged(replace(told, missing=_missing(made)), group) for made, group in groups.items()
    }
    return Step(escalations=1, after=after, ends=tuple(ends))


def _missing(made: Seen) -> tuple[int, ...]:
    """The parts that are absent, where others are there."""
    absent = tuple(part for part, count in enumerate(made) if count == 0)
    return absent if len(absent) < len(made) else ()
