"""Callers, crashes, time and operators in any order, held against a small reference model."""

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from toy_claims import LEASE, TICK
from toy_ledger import about
from toy_machine import Played, Setting, Tally
from toy_moves import BEFORE, FIRST, MOVES, NUMBERS, Move
from toy_world import KEY, NONE, READ, RETENTION, SEND

EXAMPLES = 420
PROFILE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SETTINGS = {
    "nothing": Setting(terms=NONE),
    "a key": Setting(terms=KEY),
    "a read-back": Setting(terms=READ),
    "a key and a read-back": Setting(terms=replace(READ, keyed=True, retention=RETENTION)),
    "a read-back that shows what others made": Setting(terms=READ, exclusive=False),
}


class Guarded(Played):
    """Every rule has something to do whenever it may be chosen, so no example is thrown away."""

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


def machine(given: Setting, kept: Tally) -> type[Guarded]:
    """Return the machine of that setting, which counts what its examples come to."""

    class Machine(Guarded):
        setting = given
        tally = kept

    return Machine


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_whatever_callers_time_and_operators_do_the_model_allows_it(setting: Setting) -> None:
    """And it was put to the test: half of the examples send twice, and nearly all come to be."""
    tally = Tally()
    run_state_machine_as_test(machine(setting, tally), settings=PROFILE)
    assert len(tally.sends) >= EXAMPLES
    assert sum(sends >= 1 for sends in tally.sends) >= 0.95 * len(tally.sends)
    assert median(tally.sends) >= 2
    assert median(tally.steps) >= 6
