"""Every interleaving of a few callers, with at most one crash and one lease that runs out."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from toy_game import Game


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
