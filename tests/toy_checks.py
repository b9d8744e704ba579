"""What is wrong with the end of a schedule: for each, what a user would have suffered."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

from toy_driver import Caller
from toy_game import Game
from toy_ledger import about
from toy_world import Request


def judge(game: Game) -> list[str]:
    """What is wrong at the end of a schedule, once all that was on its way has arrived."""
    game.world.pass_until(game.world.now + 1_000)
    if game.world.batch:
        return [*game.problems, *wrong_items(game), *asked_twice(game)]
    return [*game.problems, *twice_sent(game), *false_reports(game), *asked_twice(game)]


def wrong_items(game: Game) -> Iterator[str]:
    """An item of a batch was made twice, or a caller was told of items what is not so."""
    made = [effect.arguments for effect in game.world.effects]
    for effect in game.world.effects:
        if effect.arguments not in about(game.ledger.records[effect.action]).arguments:
            yield f"{effect.action} sent an item that is not its own"
    for item in set(made):
        if made.count(item) > 1:
            yield f"item {item} was made twice"
    values = {effect.value for effect in game.world.effects}
    for caller in game.callers:
        done = caller.end is not None and caller.end.kind == "done"
        if done and caller.end is not None and set(caller.end.value.split("+")) != values:
            yield f"{caller.name} was told done, with {caller.end.value}"
        if done and not set(about(caller.call).arguments) <= set(made):
            yield f"{caller.name} was told done, which is not so"
        refused = caller.end is not None and caller.end.kind == "not_executed"
        if refused and sends_that_ran(game, {about(caller.record).id}):
            yield f"{caller.name} was told not executed, which is not so"


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
        if len({about(record).identity for record in unresolved}) != len(unresolved) or not (
            unresolved if game.world.batch else len(unresolved) == 1
        ):
            return [f"after {end} {len(unresolved)} records are open: the action is lost"]
        answer(game, unresolved[-1].about.id)
        fourth = newcomer("D")
        fourth.ready = game.world.now + 1
        end = fourth.run()
        game.callers.append(fourth)
    lost = [] if end.kind == "done" and game.world.effects else [f"it ends {end}"]
    return lost + judge(game)


def answer(game: Game, action: str) -> None:
    """An operator who fenced the service off and then looked into it says what happened.

    What is missing of a batch of which some is there, he does himself.
    """
    record, world = game.ledger.records[action], game.world
    made = [effect.value for effect in world.effects if effect.action == action]
    if made:
        there = {effect.arguments for effect in world.effects}
        items = [item for item in about(record).arguments if item not in there]
        by_hand = Request(world.now, action, None, 0, "")
        made += [world.make(by_hand._replace(arguments=i)).value for i in items if world.batch]
        value = "+".join(made) if world.batch else made[0]
        record = replace(record, state="done", value=value, settled_at=world.now)
    else:
        record = replace(record, answer="did_not_happen", asked_at=inf)
    game.ledger.put(record)
