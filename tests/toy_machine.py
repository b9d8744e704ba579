"""Equal calls of one action, by callers that come and go, while time passes and operators speak."""

from dataclasses import dataclass, field, replace
from math import inf
from types import ModuleType

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
TURNS = ("t1", "t2", "t3", None)
MARGIN = BOUND + POLICY.send_timeout + POLICY.skew
EDGES = (
    *(TICK, SEND, LAG, BOUND - TICK, BOUND, BOUND + LAG, LEASE, LEASE + TICK, POLICY.poll),
    *(POLICY.deadline, RETENTION - MARGIN, RETENTION - BOUND, RETENTION + TICK),
)
NUMBERS = st.integers(0, 5)
MOST = 8


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

    def advance(self, caller: Caller, steps: int, outcome: Outcome) -> None:
        """Let it take some turns; what it sends in them comes to that."""
        world = self.game.world
        for _ in range(steps):
            if caller.finished:
                return
            world.script = (*world.script[: world.sends], outcome)
            self.steps += 1
            self.play("go", caller)

    @initialize(
        turns=st.tuples(st.sampled_from(TURNS), st.sampled_from(TURNS)),
        outcomes=st.tuples(st.sampled_from(UNKNOWN), st.sampled_from(OUTCOMES)),
        steps=st.tuples(st.integers(2, 4), st.integers(1, 4)),
        awake=st.booleans(),
    )
    def two_calls_are_under_way(
        self,
        turns: tuple[str | None, str | None],
        outcomes: tuple[Outcome, Outcome],
        steps: tuple[int, int],
        *,
        awake: bool,
    ) -> None:
        """The first was sent and its outcome is unknown; the second has met it."""
        self.awake = awake
        for turn, outcome, count in zip(turns, outcomes, steps, strict=True):
            self.advance(self.start(turn), count, outcome)

    @precondition(lambda self: len(self.game.callers) < MOST)
    @rule(
        turn=st.sampled_from(TURNS), steps=st.integers(1, 4), outcome=st.sampled_from(OUTCOMES)
    )
    def call(self, turn: str | None, steps: int, outcome: Outcome) -> None:
        self.advance(self.start(turn), steps, outcome)

    @rule(number=NUMBERS, steps=st.integers(1, 6), outcome=st.sampled_from(OUTCOMES))
    def go_on(self, number: int, steps: int, outcome: Outcome) -> None:
        self.advance(self.pick(number), steps, outcome)

    @rule(number=NUMBERS, how=st.sampled_from(["crash", "suspend"]))
    def stop(self, number: int, how: str) -> None:
        self.play(how, self.pick(number))

    @rule(seconds=st.sampled_from(EDGES))
    def let_time_pass(self, seconds: float) -> None:
        until = self.game.world.now + seconds
        while self.game.world.now < until:
            self.game.world.pass_until(min(self.game.world.now + 10, until))
            self.game.beat()

    @precondition(lambda self: not self.setting.exclusive)
    @rule(seconds=st.sampled_from((0.0, LAG, BOUND)))
    def somebody_else_makes_an_equal_effect(self, seconds: float) -> None:
        self.game.world.foreign(self.game.world.now + seconds)

    @rule()
    def the_operator_wakes_or_falls_asleep(self) -> None:
        self.awake = not self.awake

    def snapshot(self, world: World, record: Record) -> Record | None:
        """An operator who tells what the service shows now, if there is one."""
        if not self.awake:
            return None
        made = [e.value for e in world.effects if e.action == about(record).id]
        if made:
            return replace(record, state="done", value=made[0], asked_at=world.now)
        return replace(record, answer="did_not_happen", asked_at=world.now)

    @precondition(lambda self: self.settled_or_left)
    @rule(number=NUMBERS)
    def an_operator_wants_one_more(self, number: int) -> None:
        record = self.settled_or_left[number % len(self.settled_or_left)]
        name = about(record).id
        self.model.agains[name] = self.model.agains.get(name, 0) + 1
        self.game.ledger.put(replace(record, answer="again", asked_at=self.game.world.now))

    @precondition(lambda self: any(r.state == "open" for r in self.settled_or_left))
    @rule(gives_up=st.booleans())
    def an_operator_settles_what_is_left(self, *, gives_up: bool) -> None:
        """The truth is told behind a fence: what was on its way never arrives."""
        record, world = self.settled_or_left[0], self.game.world
        name = about(record).id
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
