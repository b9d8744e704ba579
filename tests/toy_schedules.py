"""Every interleaving of a few callers, with at most one crash and one lease that runs out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
        alive = [caller for caller in self.callers if not caller.finished]
        choices = [Choice("go", caller) for caller in alive]
        for caller in alive:
            if caller.holds or caller.end is not None:
                choices += [Choice("crash", caller)] * (self.crashes > 0)
                choices += [Choice("suspend", caller)] * (self.suspensions > 0)
        return choices

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
            caller.go()
            if self.world.sends > sends:
                self.problems += fresh_beside_another(self, caller)
        for other in self.callers:
            other.beat()


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


def every_schedule(build: Callable[[], Game], limit: int = 200) -> Iterator[Game]:
    """Play all schedules, the one after the other, each from its start."""
    path: list[int] = []
    while True:
        game, widths = build(), []
        while options := game.options():
            if len(widths) == limit:
                game.problems.append("livelock: the schedule does not end")
                break
            if len(widths) == len(path):
                path.append(0)
            game.play(options[path[len(widths)]])
            widths.append(len(options))
        yield game
        while path and path[-1] + 1 == widths[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


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
        if effect.arguments != about(game.ledger.records[effect.action]).arguments:
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
    if sum(caller.asked for caller in game.callers) > len(game.ledger.records):
        yield "an operator was asked twice about one record"


def recover(game: Game, newcomer: Callable[[str], Caller]) -> list[str]:
    """Let two more equal calls follow, with an operator who knows the truth between them."""
    game.world.pass_until(game.world.now + 1_000)
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
    """An operator who looked into the service says what happened."""
    record = game.ledger.records[action]
    made = [effect.value for effect in game.world.effects if effect.action == action]
    if made:
        record = replace(record, state="done", value=made[0], settled_at=game.world.now)
    else:
        record = replace(record, answer="did_not_happen", asked_at=game.world.now)
    game.ledger.put(record)
