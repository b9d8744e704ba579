"""Callers of one action in one world, as the rules of the state machine move them."""

from dataclasses import dataclass, field, replace
from math import inf
from types import ModuleType
from typing import ClassVar

from hypothesis.stateful import RuleBasedStateMachine

import retry_guard_core
import toy_driver
import toy_ledger
from retry_guard_core import Record, Terms
from toy_driver import Caller
from toy_game import Choice, Game
from toy_ledger import about
from toy_model import Model
from toy_moves import TURNS, Move
from toy_world import World

MOST = 8  # callers that come of themselves; where none lives, one more always may


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


class Played(RuleBasedStateMachine):
    """What the rules are made of. Whoever is asked for a caller that lives gets one."""

    setting: ClassVar[Setting]
    tally: ClassVar[Tally]

    def __init__(self) -> None:
        super().__init__()
        self.awake, self.steps = False, 0
        world = World(self.setting.terms, exclusive=self.setting.exclusive)
        self.game = Game(world, self.setting.ledgers.ToyLedger(), [])
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

    def snapshot(self, world: World, record: Record) -> Record | None:
        """An operator who tells what the service shows now, if there is one."""
        if not self.awake:
            return None
        made = [e.value for e in world.effects if e.action == about(record).id]
        if made:
            return replace(record, state="done", value=made[0], asked_at=world.now)
        return replace(record, answer="did_not_happen", asked_at=world.now)

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
