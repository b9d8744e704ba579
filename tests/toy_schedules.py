"""Every interleaving of a few callers, with at most one crash and one lease that runs out."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from operator import itemgetter
from types import GeneratorType
from typing import NamedTuple

from toy_driver import LEASE, Caller
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
            if caller.holds or caller.end is not None:
                choices += [Choice("crash", caller)] * (self.crashes > 0)
                choices += [Choice("suspend", caller)] * (caller.holds and self.suspensions > 0)
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
        callers = tuple((*caller.state(), *frames(caller.engine)) for caller in self.callers)
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
            if self.world.sends > sends:
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


class Count(NamedTuple):
    """How many schedules there are, and through how many different states they lead."""

    schedules: int
    states: int


def explore(build: Callable[[], Game], judged: Callable[[Game], None], limit: int = 200) -> Count:
    """Play all schedules and hand each different end to `judged`.

    Two schedules that lead to one state (of the callers, their generators, the world and the
    ledger) have one future, which is played once and counted for both.
    """
    known: dict[Hashable, int] = {}

    def visit(game: Game, depth: int) -> int:
        state = game.state()
        if state in known:
            return known[state]
        options, count = game.options(), 0
        if not options or depth > limit:
            game.problems += ["livelock: the schedule does not end"] * len(options)
            judged(game)
            count = 1
        for index in range(len(options) if count == 0 else 0):
            branch = game if index + 1 == len(options) else game.copy()
            branch.play(branch.options()[index])
            count += visit(branch, depth + 1)
        known[state] = count
        return count

    schedules = visit(build(), 0)
    return Count(schedules, len(known))


def frames(engine: object) -> Iterator[Hashable]:
    """Where a generator and the one that it delegates to stand, and all that they know."""
    while isinstance(engine, GeneratorType) and engine.gi_frame is not None:
        frame = engine.gi_frame
        yield frame.f_lasti, *sorted(frame.f_locals.items(), key=itemgetter(0))
        engine = engine.gi_yieldfrom


def judge(game: Game) -> list[str]:
    """What is wrong at the end of a schedule, once all that was on its way has arrived."""
    game.world.pass_until(game.world.now + 1_000)
    problems = [*game.problems, *twice_sent(game), *false_reports(game), *asked_twice(game)]
    return problems


def sends_that_ran(game: Game, actions: set[str]) -> set[int]:
    return {effect.send for effect in game.world.effects if effect.action in actions}


def twice_sent(game: Game) -> Iterator[str]:
    """More than one send took effect, for one action or within one turn."""
    turns: dict[str | None, set[str]] = {}
    for record in game.ledger.records.values():
        turns.setdefault(record.turn, set()).add(about(record).id)
        if len(sends_that_ran(game, {about(record).id})) > 1:
            yield f"{about(record).id} took effect twice"
    for turn, actions in turns.items():
        if len(sends_that_ran(game, actions)) > 1:
            yield f"turn {turn} took effect twice"
    for effect in game.world.effects:
        made_by = game.ledger.records.get(effect.action)
        if made_by is not None and effect.arguments != about(made_by).arguments:
            yield f"{effect.action} was sent with other arguments than were recorded"


def false_reports(game: Game) -> Iterator[str]:
    """Something was called done that is not exactly once, or not executed although it ran."""
    made = {effect.value: effect for effect in game.world.effects}
    for caller in game.callers:
        end = caller.end
        if end is None:
            continue
        if end.kind == "done":
            effect = made.get(end.value)
            if effect is None or len(sends_that_ran(game, {effect.action})) != 1:
                yield f"{caller.name} was told done, which is not so"
            elif effect.action != about(caller.record).id:
                yield f"{caller.name} was told of another's effect"
        if end.kind == "not_executed" and sends_that_ran(game, {about(caller.record).id}):
            yield f"{caller.name} was told not executed, which is not so"


def asked_twice(game: Game) -> Iterator[str]:
    """Once per record; what a caller asked in vain and could not store may be asked once more."""
    lost = 2 - game.crashes - game.suspensions
    if sum(caller.asked for caller in game.callers) > len(game.ledger.records) + lost:
        yield "an operator was asked twice about one record"


def recover(game: Game, newcomer: Callable[[str], Caller]) -> list[str]:
    """Let two more equal calls follow, with an operator who knows the truth between them."""
    game.world.pass_until(game.world.now + 1_000)
    game.world.script = ()
    third = newcomer("C")
    third.ready = game.world.now
    end = third.run()
    game.callers.append(third)
    if end.kind != "done":
        unresolved = [r for r in game.ledger.records.values() if r.state == "open"]
        if len(unresolved) != 1:
            return [f"after {end} {len(unresolved)} records are open: the action is lost"]
        answer(game, unresolved[0].about.id)
        fourth = newcomer("D")
        fourth.ready = game.world.now + 1
        end = fourth.run()
        game.callers.append(fourth)
    lost = [] if end.kind == "done" and game.world.effects else [f"it ends {end}"]
    return lost + judge(game)


def answer(game: Game, action: str) -> None:
    """An operator who fenced the service off and then looked into it says what happened."""
    record = game.ledger.records[action]
    made = [effect.value for effect in game.world.effects if effect.action == action]
    if made:
        record = replace(record, state="done", value=made[0], settled_at=game.world.now)
    else:
        record = replace(record, answer="did_not_happen", asked_at=inf)
    game.ledger.put(record)
