"""Callers, crashes, time and operators in any order, held against a small reference model."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import HealthCheck, assume, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from retry_guard_core import Record, Terms
from toy_driver import Caller
from toy_game import Choice, Game
from toy_ledger import ToyLedger, about
from toy_model import Model
from toy_world import KEY, NONE, READ, RETENTION, Outcome, World

OUTCOMES: tuple[Outcome, ...] = ("ok", "lost_ack", "lost_request", "refused", "late", "twice")
TURNS = ("t1", "t2", "t3", None)
MOST = 5
PROFILE = settings(
    max_examples=600,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Guarded(RuleBasedStateMachine):
    """Equal calls of one action, in several turns, by callers that come and go."""

    terms: Terms = NONE

    def __init__(self) -> None:
        super().__init__()
        self.awake = False
        self.game = Game(World(self.terms), ToyLedger(), [])
        self.model = Model()

    @property
    def alive(self) -> list[Caller]:
        return [caller for caller in self.game.callers if not caller.finished]

    def pick(self, number: int) -> Caller:
        assume(self.alive)
        return self.alive[number % len(self.alive)]

    def play(self, what: str, caller: Caller) -> None:
        self.game.play(Choice(what, caller))
        self.model.observe(self.game)

    @precondition(lambda self: len(self.game.callers) < MOST)
    @rule(turn=st.sampled_from(TURNS))
    def call(self, turn: str | None) -> None:
        name = "ABCDE"[len(self.game.callers)]
        world, ledger = self.game.world, self.game.ledger
        caller = Caller(name, world, ledger, turn=turn, operator=self.snapshot)
        self.game.callers.append(caller)

    @rule(number=st.integers(0, MOST), outcome=st.sampled_from(OUTCOMES), turns=st.integers(1, 4))
    def go_on(self, number: int, outcome: Outcome, turns: int) -> None:
        caller = self.pick(number)
        for _ in range(turns):
            world = self.game.world
            world.script = (*world.script[: world.sends], outcome)
            if not caller.finished:
                self.play("go", caller)

    @rule(number=st.integers(0, MOST), how=st.sampled_from(["crash", "suspend"]))
    def stop(self, number: int, how: str) -> None:
        self.play(how, self.pick(number))

    @rule(seconds=st.sampled_from([1.0, 10.0, 40.0, 250.0]))
    def let_time_pass(self, seconds: float) -> None:
        until = self.game.world.now + seconds
        while self.game.world.now < until:
            self.game.world.pass_until(min(self.game.world.now + 10, until))
            self.game.beat()

    @rule(awake=st.booleans())
    def wake_the_operator(self, awake: bool) -> None:
        self.awake = awake

    def snapshot(self, world: World, record: Record) -> Record | None:
        """An operator who tells what the service shows now, if there is one."""
        if not self.awake:
            return None
        made = [e.value for e in world.effects if e.action == about(record).id]
        if made:
            return replace(record, state="done", value=made[0], asked_at=world.now)
        return replace(record, answer="did_not_happen", asked_at=world.now)

    @rule(answer=st.sampled_from(["true", "again", "abandon"]))
    def an_operator_answers_beside_the_calls(self, answer: str) -> None:
        """Only where no live call holds the record; the truth is told behind a fence."""
        world = self.game.world
        for name, record in self.game.ledger.records.items():
            held = record.state == "open" and record.lease >= world.now
            if held or record.state not in ("open", "done"):
                continue
            if answer == "again":
                self.model.agains[name] = self.model.agains.get(name, 0) + 1
                self.game.ledger.put(replace(record, answer="again", asked_at=world.now))
            elif record.state == "open" and answer == "abandon":
                self.game.ledger.put(replace(record, state="abandoned", settled_at=world.now))
            elif record.state == "open":
                world.late = [late for late in world.late if late.action != name]
                told = self.snapshot_of(record)
                self.game.ledger.put(told)
            return

    def snapshot_of(self, record: Record) -> Record:
        made = [e.value for e in self.game.world.effects if e.action == about(record).id]
        if made:
            return replace(record, state="done", value=made[0], settled_at=self.game.world.now)
        return replace(record, answer="did_not_happen", asked_at=inf)

    @invariant()
    def the_model_allows_what_there_is(self) -> None:
        self.model.observe(self.game)

    def teardown(self) -> None:
        """Whoever still runs comes to an end, and all that is on its way arrives."""
        for caller in self.alive:
            for _ in range(200):
                if caller.finished:
                    break
                self.play("go", caller)
            assert caller.finished, f"{caller.name} never ends"
        self.game.world.pass_until(self.game.world.now + 1_000)
        self.model.observe(self.game)


class WithKey(Guarded):
    terms = KEY


class WithReadBack(Guarded):
    terms = READ


class WithKeyAndReadBack(Guarded):
    terms = replace(READ, keyed=True, retention=RETENTION)


@pytest.mark.parametrize("machine", [WithKey, WithReadBack, WithKeyAndReadBack, Guarded])
def test_whatever_callers_time_and_operators_do_the_model_allows_it(
    machine: type[Guarded],
) -> None:
    run_state_machine_as_test(machine, settings=PROFILE)
