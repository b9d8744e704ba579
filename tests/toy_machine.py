"""Equal calls of one action, by callers that come and go, while time passes and operators speak."""

from dataclasses import dataclass, field, replace
from math import inf
from types import ModuleType
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import retry_guard_core
import toy_driver
import toy_ledger
from retry_guard_core import Record, Terms
from toy_claims import LEASE, POLICY, TICK
from toy_driver import Caller
from toy_game import Choice, Game
from toy_ledger import about
from toy_model import Model
from toy_world import BOUND, LAG, RETENTION, SEND, Outcome, World

UNKNOWN: tuple[Outcome, ...] = ("lost_request", "lost_ack", "late")
OUTCOMES: tuple[Outcome, ...] = ("ok", *UNKNOWN, "refused", "twice")
TURNS = ("t2", "t1", "t3", None)
MARGIN = BOUND + POLICY.send_timeout + POLICY.skew
EDGES = (
    *(TICK, SEND, LAG, BOUND - TICK, BOUND, BOUND + LAG, LEASE, LEASE + TICK, POLICY.poll),
    *(POLICY.deadline, RETENTION - MARGIN, RETENTION - BOUND, RETENTION + TICK),
)
MOST = 8


class Move(NamedTuple):
    """What a caller does: how long after, in how many turns, and what its sends come to."""

    after: float
    steps: int
    outcome: Outcome
    turn: str | None


NUMBERS = st.integers(0, 5)
MOVES = st.builds(
    Move,
    after=st.just(0.0) | st.sampled_from(EDGES),
    steps=st.integers(1, 9),
    outcome=st.sampled_from(OUTCOMES),
    turn=st.sampled_from(TURNS),
)
BEFORE = st.sampled_from(("read", "save", "send", "wait"))
FIRST = st.builds(
    Move,
    after=st.just(0.0),
    steps=st.integers(3, 12),
    outcome=st.sampled_from(UNKNOWN),
    turn=st.just("t1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The contract that all calls share, and the parts that they are made of."""

    terms: Terms
    exclusive: bool = True
    core: ModuleType = retry_guard_core
    ledgers: ModuleType = toy_ledger
    drivers: ModuleType = toy_driver


@dataclass
class Tally:
    """What each example came to before it was wound up: its sends, and its callers' turns."""

    sends: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])


class Guarded(RuleBasedStateMachine):
    """Every rule has something to do whenever it may be chosen, so no example is thrown away."""

    def __init__(self, setting: Setting, tally: Tally) -> None:
        super().__init__()
        self.setting, self.tally, self.awake, self.steps = setting, tally, False, 0
        world = World(setting.terms, exclusive=setting.exclusive)
        self.game = Game(world, setting.ledgers.ToyLedger(), [])
        self.model = Model()

    @property
    def alive(self) -> list[Caller]:
        return [caller for caller in self.game.callers if not caller.finished]

    @property
    def settled_or_left(self) -> list[Record]:
        """What an operator may speak about: no live call holds it."""
        records, now = self.game.ledger.records.values(), self.game.world.now
        left = [r for r in records if r.state == "open" and r.lease < now]
        return [*left, *(r for r in records if r.state == "done")]

    def start(self, turn: str | None) -> Caller:
        name = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(self.game.callers)]
        caller: Caller = self.setting.drivers.Caller(
            name,
            self.game.world,
            self.game.ledger,
            turn=turn,
            arguments=f"as {name} gives them",
            operator=self.snapshot,
            core=self.setting.core,
        )
        self.game.callers.append(caller)
        return caller

    def pick(self, number: int) -> Caller:
        """A caller that lives; a new one where none does."""
        alive = self.alive or [self.start(TURNS[number % len(TURNS)])]
        return alive[number % len(alive)]

    def play(self, what: str, caller: Caller) -> None:
        self.game.play(Choice(what, caller))
        self.model.observe(self.game)

    def advance(self, caller: Caller, move: Move) -> None:
        """Let it take some turns; what it sends in them comes to that."""
        world = self.game.world
        for _ in range(move.steps):
            if caller.finished:
                return
            world.script = (*world.script[: world.sends], move.outcome)
            self.steps += 1
            self.play("go", caller)

    def pass_time(self, seconds: float) -> None:
        until = self.game.world.now + seconds
        while self.game.world.now < until:
            self.game.world.pass_until(min(self.game.world.now + 10, until))
            self.game.beat()

    def follow(self, move: Move) -> None:
        """Another call, once that time has passed."""
        self.pass_time(move.after)
        alive = len(self.game.callers) >= MOST
        self.advance(self.pick(move.steps) if alive else self.start(move.turn), move)

    @initialize(first=FIRST, second=MOVES, awake=st.sampled_from((True, True, True, False)))
    def two_calls_are_under_way(self, first: Move, second: Move, *, awake: bool) -> None:
        """The first was sent, with an unknown outcome, when the second comes.

        An operator who is awake has settled by then what no live call holds.
        """
        self.awake = awake
        self.follow(first._replace(steps=12) if awake else first)
        self.pass_time(second.after + TICK)
        if awake and self.settled_or_left:
            self.settle(self.settled_or_left[0], gives_up=False)
        self.follow(second._replace(after=0.0))

    @rule(move=MOVES)
    def call(self, move: Move) -> None:
        self.follow(move)

    @rule(number=NUMBERS, move=MOVES)
    def go_on(self, number: int, move: Move) -> None:
        self.pass_time(move.after)
        self.advance(self.pick(number), move)

    @rule(number=NUMBERS, move=MOVES)
    def crash(self, number: int, move: Move) -> None:
        """A process dies, and another call comes."""
        self.play("crash", self.pick(number))
        self.follow(move)

    @rule(number=NUMBERS, before=BEFORE, move=MOVES, later=MOVES)
    def pause(self, number: int, before: str, move: Move, later: Move) -> None:
        """A process sleeps past its lease before such a step; another call comes; it wakes."""
        caller = self.pick(number)
        for _ in range(9):
            if caller.finished or (caller.step is not None and caller.step.do == before):
                break
            self.advance(caller, later._replace(steps=1))
        if not caller.finished:
            self.play("suspend", caller)
            self.follow(move._replace(after=LEASE + SEND))
            self.advance(caller, later)

    @precondition(lambda self: not self.setting.exclusive)
    @rule(move=MOVES)
    def somebody_else_makes_an_equal_effect(self, move: Move) -> None:
        self.game.world.foreign(self.game.world.now + SEND)
        self.follow(move)

    @rule(number=NUMBERS, move=MOVES)
    def the_operator_wakes_or_falls_asleep(self, number: int, move: Move) -> None:
        self.awake = not self.awake
        self.go_on(number, move)

    def snapshot(self, world: World, record: Record) -> Record | None:
        """An operator who tells what the service shows now, if there is one."""
        if not self.awake:
            return None
        made = [e.value for e in world.effects if e.action == about(record).id]
        if made:
            return replace(record, state="done", value=made[0], asked_at=world.now)
        return replace(record, answer="did_not_happen", asked_at=world.now)

    @precondition(lambda self: self.settled_or_left)
    @rule(number=NUMBERS, move=MOVES)
    def an_operator_wants_one_more(self, number: int, move: Move) -> None:
        record = self.settled_or_left[number % len(self.settled_or_left)]
        name = about(record).id
        self.model.agains[name] = self.model.agains.get(name, 0) + 1
        self.game.ledger.put(replace(record, answer="again", asked_at=self.game.world.now))
        self.follow(move)

    @precondition(lambda self: any(r.state == "open" for r in self.settled_or_left))
    @rule(gives_up=st.booleans(), move=MOVES)
    def an_operator_settles_what_is_left(self, move: Move, *, gives_up: bool) -> None:
        self.settle(self.settled_or_left[0], gives_up=gives_up)
        self.follow(move)

    def settle(self, record: Record, *, gives_up: bool) -> None:
        """The truth is told behind a fence: what was on its way never arrives."""
        world, name = self.game.world, about(record).id
        if record.state != "open":
            return
        if gives_up:
            told = replace(record, state="abandoned", settled_at=world.now)
        else:
            world.late = [late for late in world.late if late.action != name]
            made = [e.value for e in world.effects if e.action == name]
            told = replace(record, answer="did_not_happen", asked_at=inf)
            if made:
                told = replace(record, state="done", value=made[0], settled_at=world.now)
        self.game.ledger.put(told)

    @invariant()
    def the_model_allows_what_there_is(self) -> None:
        self.model.observe(self.game)

    def teardown(self) -> None:
        """Whoever still runs comes to an end, and all that is on its way arrives."""
        self.tally.sends.append(self.game.world.sends)
        self.tally.steps.append(self.steps)
        for caller in self.alive:
            for _ in range(200):
                if caller.finished:
                    break
                self.play("go", caller)
            assert caller.finished, f"{caller.name} never ends"
        self.game.world.pass_until(self.game.world.now + 1_000)
        self.model.observe(self.game)
