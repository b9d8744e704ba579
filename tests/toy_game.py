"""Some callers in one world, and all that could happen to them next."""

import inspect
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import NamedTuple

from toy_claims import LEASE
from toy_driver import Caller
from toy_ledger import ToyLedger, about
from toy_world import World


class Choice(NamedTuple):
    """What happens next, and to whom."""

    what: str
    caller: Caller


@dataclass
class Game:
    """Some callers in one world. `problems`: what a schedule has shown to be wrong."""

    world: World
    ledger: ToyLedger
    callers: list[Caller]
    crashes: int = 1
    suspensions: int = 1
    problems: list[str] = field(default_factory=list[str])
    steps: int = 0

    def options(self) -> list[Choice]:
        """All that could happen next; to a caller that holds nothing, only its next turn."""
        if self.steps == 0:
            return [Choice("go", self.callers[0])]  # whoever claims first is called the first
        alive = [caller for caller in self.callers if not caller.finished]
        choices = [Choice("go", caller) for caller in alive]
        for caller in alive:
            holds = caller.holds
            if self.crashes > 0 and (holds or caller.end is not None):
                choices.append(Choice("crash", caller))
            if self.suspensions > 0 and holds:
                choices.append(Choice("suspend", caller))
        return choices

    def copy(self) -> "Game":
        """The same state, once more."""
        world, ledger = self.world.copy(), type(self.ledger)()
        ledger.records = dict(self.ledger.records)
        callers = [caller.copy(world, ledger) for caller in self.callers]
        game = replace(self, world=world, ledger=ledger, callers=callers)
        game.problems = [*self.problems]
        return game

    def state(self) -> Hashable:
        """All that the future depends on."""
        records = tuple(self.ledger.records.values())
        family = (one for caller in self.callers for one in caller.family)
        callers = tuple((*one.state(), *frames(one.engine)) for one in family)
        left = (self.crashes, self.suspensions, *self.problems)
        return self.world.state(), records, callers, left

    def play(self, choice: Choice) -> None:
        what, caller = choice
        self.steps += 1
        if what == "crash":
            self.crashes, caller.stopped = self.crashes - 1, True
        elif what == "suspend":
            self.suspensions, caller.suspended = self.suspensions - 1, True
            caller.ready = max(caller.ready, self.world.now + LEASE + 1)
        else:
            sends = self.world.sends
            self.world.pass_until(caller.ready)
            self.beat()
            caller.go()
            if self.world.sends > sends and not self.world.batch:
                self.problems += fresh_beside_another(self, caller)
        self.beat()

    def beat(self) -> None:
        """A live process keeps its leases."""
        for caller in self.callers:
            caller.beat()


def fresh_beside_another(game: Game, caller: Caller) -> Iterator[str]:
    """A first write while an equal one is unresolved, or has a result that nobody received."""
    assert caller.step is not None
    mine = about(caller.step.record).id
    for made in game.world.effects:
        other = game.ledger.records.get(made.action)
        if made.action == mine or other is None:
            continue
        if other.state != "done" or not other.delivered:
            yield f"{mine} was sent while {made.action} was {other.state}"


def frames(engine: object) -> Iterator[Hashable]:
    """Where a generator and the one that it delegates to stand, and all that they know."""
    while engine is not None and inspect.isgenerator(engine):
        frame = engine.gi_frame
        if frame is not None:
            yield frame.f_lasti, *sorted(frame.f_locals.items(), key=itemgetter(0))
        engine = getattr(engine, "gi_yieldfrom", None)
