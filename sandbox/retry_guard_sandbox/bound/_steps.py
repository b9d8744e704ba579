"""What comes of a move: what it costs, what is then seen, and what is still possible."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple, assert_never

from retry_guard_sandbox.bound._beliefs import Belief, History, merged
from retry_guard_sandbox.bound._game import ANSWERED_AFTER, Cell
from retry_guard_sandbox.bound._moves import Move
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
from retry_guard_sandbox.bound._value import Claim

Seen = tuple[int, ...]
"""How often each part was made, as a read or the operator says; of other moves nothing."""


class End(NamedTuple):
    """The play is over for these schedules."""

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
            return Step(escalations=int(move.claim in {"unknown", "later"}), ends=ends)
        case _:
            assert_never(move.kind)


def _send(cell: Cell, belief: Belief, move: Move) -> Step:
    before = belief.history
    after = _after_send(before, move)
    send = Send(after.sends, move.until, after.key, move.parts)
    if before.cleared or not cell.hits(after.sends):
        usual = Outcome("executed", AT_ONCE)
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
    sent = replace(before, sends=before.sends + 1, looked=None)
    if move.kind == "reissue":
        return replace(sent, tries=before.tries + 1)
    return replace(sent, tries=0, key=before.key + 1, fresh=before.fresh + (before.sends > 0))


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
    """Let the operator stop what is in flight, and answer truthfully.

    Where it did not happen, it may be sent anew; everything else ends the play.
    """
    history = belief.history
    ends: list[End] = []
    absent: list[tuple[Effects, int]] = []
    for effects, weight in belief.possible:
        fenced = tuple(effect for effect in effects if effect.at <= history.now)
        made = set(counts(fenced, cell.tool.parts, inf))
        if made == {0}:
            absent.append((fenced, weight))
        else:
            ends.append(End("done" if made == {1} else "told", fenced, weight))
    cleared = replace(history, cleared=True, missing=())
    after: dict[Seen, Belief] = {(0,): merged(cleared, absent)} if absent else {}
    return Step(escalations=1, after=after, ends=tuple(ends))


def _missing(made: tuple[int, ...]) -> tuple[int, ...]:
    """The parts that are absent, where others are there."""
    absent = tuple(part for part, count in enumerate(made) if count == 0)
    return absent if len(absent) < len(made) else ()
