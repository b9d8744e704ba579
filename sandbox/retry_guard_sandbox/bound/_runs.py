"""The real guard in the same game: each hidden schedule is forced upon the sandbox's network.

What it is worth comes from the ledger of effects, from the requests that the network counted,
and from what the guard asked and answered. Nothing here knows how the guard decides.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple, assert_never

from retry_guard import Answer, Done, Guard, NotExecuted, Outcome as Answered, Policy, Unresolved
from retry_guard_contracts import decode
from retry_guard_ledgers import Ledger, about
from retry_guard_outcomes import classify
from retry_guard_sandbox.bound._cells import Subject
from retry_guard_sandbox.bound._game import ANSWERED_AFTER, SHOWN_AFTER, Cell
from retry_guard_sandbox.bound._schedules import AT_ONCE, Outcome, outcomes
from retry_guard_sandbox.bound._value import Claim, Value, judged
from retry_guard_sandbox.conditions._caller import TENANT, fresh_ledger
from retry_guard_sandbox.services import KEY, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._fates import Fate
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import fencing, made_since
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import World, build

_UP = _RUNNING = AT_ONCE / 2
_USUAL = Fate("success", _UP, _RUNNING, ANSWERED_AFTER - AT_ONCE, (_UP,))


class Leaf(NamedTuple):
    """One schedule as it was played: the outcomes of the attempts that were hit, and its worth.

    `breach`: what the guard did that the rules of the game forbid.
    """

    choices: tuple[int, ...]
    value: Value
    breach: str | None = None


def leaves(subject: Subject, cell: Cell) -> Iterator[Leaf]:
    """Play every schedule. What becomes of attempts that are never made is not told apart."""
    every = len(outcomes(cell))
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        begun = waiting.pop()
        leaf = play(subject, cell, begun)
        yield leaf
        for place in range(len(begun), len(leaf.choices)):
            waiting += [(*leaf.choices[:place], other) for other in range(1, every)]


def play(subject: Subject, cell: Cell, choices: tuple[int, ...]) -> Leaf:
    """Play one schedule: these outcomes, and then the first one of each attempt that is hit."""
    run = Run(subject, cell, choices)
    claim = run.carried_out()
    ended = run.world.clock.time
    run.world.clock.settle()
    return Leaf(tuple(run.taken), run.worth(claim, ended - START), run.breach)


@dataclass(slots=True)
class Run:
    """One call through the guard. `taken`: the outcome of each attempt that was hit, so far.

    `keys`: how often each was sent. `breach`: what the rules forbid, and was done nevertheless.
    """

    subject: Subject
    cell: Cell
    choices: tuple[int, ...]
    taken: list[int] = field(default_factory=list[int])
    writes: int = 0
    asked: int = 0
    keys: Counter[str | None] = field(default_factory=Counter[str | None])
    breach: str | None = None
    ledger: Ledger = field(default_factory=fresh_ledger)
    world: World = field(init=False)

    def __post_init__(self) -> None:
        subject = self.subject
        self.world = build(
            subject.service, subject.variant, "none", Streams("bound"), fate_of=self._fate
        )

    def carried_out(self) -> Claim:
        """Let the guard carry out the call; return what it claims in the end."""
        world, rules, subject = self.world, self.cell.rules, self.subject
        reads = [c for c in world.variant.contracts.values() if c.effect == "read"]
        guard = Guard(
            self.ledger,
            [subject.contract, *reads],
            classify=classify,
            read=world.wire.call,
            ask=self._ask if rules.operator else None,
            policy=Policy(
                attempts=rules.attempts,
                fresh_sends=rules.fresh_sends,
                backoff=rules.backoff,
                backoff_limit=rules.backoff_limit,
                deadline=rules.deadline,
            ),
            clock=world.clock,
            secret=world.streams.secret("guard"),
        )
        outcome = guard.call(
            subject.tool, subject.arguments, send=self._send, scope=TENANT, turn="turn-1"
        )
        return _claim(outcome, bounded=isfinite(self.cell.tool.bound))

    def _send(self, arguments: dict[str, Any], _extra: dict[str, str]) -> Json:
        key = arguments.get(KEY)
        self.keys[key] += 1
        if not self.asked:
            self.breach = self.breach or self._broken(self.keys[key] - 1)
        return self.world.wire.call(self.subject.tool, arguments)

    def _broken(self, again: int) -> str | None:
        """Say which rule a send has broken, its key's re-issue of that number."""
        rules, keyed = self.cell.rules, self.cell.tool.keyed
        fresh = len(self.keys) - 1 if keyed else again
        if fresh > rules.fresh_sends:
            return f"fresh send {fresh}, where {rules.fresh_sends} are allowed"
        if not keyed or again == 0:
            return None
        if again > rules.attempts:
            return f"re-issue {again} under one key, where {rules.attempts} are allowed"
        ends = self.world.clock.time - START + SHOWN_AFTER["timeout"]
        if ends > rules.deadline:
            return f"a re-issue whose time-out would end after {ends:.1f} s, past the deadline"
        return None

    def _ask(self, unresolved: Unresolved) -> Answer | None:
        """Ask the fencing operator, who answers once, by what the record says was sent."""
        self.asked += 1
        if self.asked > 1:
            return None
        record = self.ledger.get(TENANT, unresolved.action)
        if record is None:
            raise LookupError(f"the guard asks about what it has no record of: {unresolved}")
        recorded: Json = decode(about(record).arguments)
        plain = {name: value for name, value in recorded.items() if name != KEY}
        return fencing(self.world.network, self.world.effects, self.subject.tool, plain)

    def _fate(self, tool: Tool, _action: int, _attempt: int) -> Fate:
        if tool.effect == "read":
            return _USUAL
        self.writes += 1
        if self.asked or not self.cell.hits(self.writes):
            return _USUAL
        outcome, shown = self._outcome(), self.cell.shown_after
        arrivals = (outcome.after - _RUNNING,) * outcome.copies
        share = 0.5 if outcome.hidden == "partial" else 1.0
        return Fate(self.cell.shown, _UP, _RUNNING, shown - AT_ONCE, arrivals, share)

    def _outcome(self) -> Outcome:
        """Choose, unless it makes no difference: the one key has brought all that it can."""
        every = outcomes(self.cell)
        if self.cell.tool.keyed and len(self.keys) == 1 and is_done(self.made()):
            return every[0]
        place = len(self.taken)
        self.taken.append(self.choices[place] if place < len(self.choices) else 0)
        return every[self.taken[-1]]

    def made(self) -> list[list[Effect]]:
        """The effects so far, of each part."""
        return made_since(self.world.effects, self.subject.tool, self.subject.arguments, 0.0)

    def worth(self, claim: Claim, seconds: float) -> Value:
        """Return what came of it, once all has happened that will."""
        made = self.made()
        again = sum(max(len({effect.send for effect in part}) - 1, 0) for part in made)
        extra, false, missing = judged(claim, tuple(len(part) for part in made), again)
        return Value(
            worst_duplicates=extra,
            duplicates=extra,
            worst_false=false,
            false=false,
            worst_omissions=missing,
            omissions=missing,
            escalations=min(self.asked, 1) + (claim in {"unknown", "later"}),
            calls=self.world.network.sends,
            seconds=seconds,
        )


def is_done(made: list[list[Effect]]) -> bool:
    """Whether every part has been made: a repeat under the same key then changes nothing."""
    return all(made)


def _claim(outcome: Answered, *, bounded: bool) -> Claim:
    match outcome:
        case Done():
            return "done"
        case NotExecuted():
            return "not done"
        case Unresolved(reason="abandoned"):
            return "told"
        case Unresolved(not_before=not_before):
            return "unknown" if not_before is None or not bounded else "later"
        case _:
            assert_never(outcome)
