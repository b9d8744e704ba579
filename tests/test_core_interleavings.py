"""Two equal calls in every order, one of which may crash, and one of which may lose its lease.

`SOAK=1` plays a larger scope: both sends of a script, and two re-issues.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from retry_guard_core import Terms
from toy_checks import judge, recover
from toy_claims import POLICY
from toy_driver import Caller
from toy_game import Game
from toy_ledger import ToyLedger
from toy_schedules import explore
from toy_world import BOUND, KEY, NONE, READ, READ_UNBOUNDED, RETENTION, Outcome, World

SOAK = "SOAK" in os.environ
OUTCOMES: tuple[Outcome, ...] = ("ok", "lost_ack", "lost_request", "refused", "late", "twice")
TURNS = {"one_turn": ("t1", "t1"), "two_turns": ("t1", "t2"), "no_turns": (None, None)}
CONTRACTS: dict[str, Terms] = {
    "key": KEY,
    "read": READ,
    "read_without_bound": READ_UNBOUNDED,
    "key_and_read": replace(READ, keyed=True, retention=RETENTION),
    "none": NONE,
    "batch": READ,
}
# Contract, whose turns, what becomes of the first send (and of the second, where two are named).
QUICK = (
    *(("key", turns, ("lost_ack",)) for turns in ("one_turn", "two_turns")),
    *(("key", "two_turns", (first,)) for first in ("ok", "refused", "twice")),
    ("key", "one_turn", ("late",)),
    *(("read", turns, (first,)) for turns in ("one_turn", "two_turns") for first in ("late", "ok")),
    *(("read", "two_turns", (first,)) for first in ("lost_ack", "refused", "twice")),
    ("read", "one_turn", ("lost_request",)),
    *(("none", turns, ("lost_ack",)) for turns in ("one_turn", "two_turns", "no_turns")),
    *(("none", "two_turns", (first,)) for first in ("ok", "lost_request", "refused", "late")),
    ("read_without_bound", "one_turn", ("late",)),
    ("key_and_read", "two_turns", ("lost_ack",)),
    ("batch", "one_turn", ("part",)),
)
SCRIPTS = (
    *((first,) for first in OUTCOMES),
    *product(("lost_ack", "lost_request", "late"), ("lost_ack", "refused")),
)
WHOLE = (
    *product(("key", "read", "none", "key_and_read"), ("one_turn", "two_turns"), SCRIPTS),
    *product(("batch",), ("one_turn", "two_turns"), product(("part",), (*OUTCOMES, "part"))),
)
SCENARIOS = WHOLE if SOAK else QUICK


def game(
    terms: Terms, turns: tuple[str | None, ...], script: tuple[Outcome, ...], items: str = ""
) -> Game:
    """Two callers; `items`: of a batch, which takes more steps, so only crashes come between."""
    world, ledger = World(terms, script, batch=bool(items)), ToyLedger()
    policy = replace(POLICY, attempts=2) if SOAK else POLICY
    callers = [
        Caller(name, world, ledger, turn=turn, policy=policy, arguments=items)
        for name, turn in zip("AB", turns, strict=True)
    ]
    return Game(world, ledger, callers, suspensions=0 if items else 1)


def name_of(scenario: tuple[str, str, tuple[Outcome, ...]]) -> str:
    contract, turns, script = scenario
    return "-".join((contract, turns, *script))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
def test_in_every_order_an_action_happens_once_is_told_truly_and_is_never_lost(
    scenario: tuple[str, str, tuple[Outcome, ...]],
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    contract, order, script = scenario
    terms, turns, items = CONTRACTS[contract], TURNS[order], "ab" * (contract == "batch")
    problems: dict[str, int] = {}

    def judged(end: Game) -> None:
        found = judge(end) or recover(
            end,
            lambda name: Caller(name, end.world, end.ledger, turn=turns[1], arguments=items),
        )
        for problem in found:
            problems[problem] = problems.get(problem, 0) + 1

    count = explore(lambda: game(terms, turns, script, items), judged)
    record_property("schedules", count.schedules)
    record_property("states", count.states)
    with capsys.disabled():
        print(f"\n{name_of(scenario)}: {count.schedules} schedules, {count.states} states")  # noqa: T201 - the run says how much it played
    assert problems == {}
    assert count.schedules > 1_000


def test_the_scope_holds_every_contract_outcome_and_order_of_turns() -> None:
    contracts, turns, scripts = zip(*QUICK, strict=True)
    assert set(contracts) >= {"key", "read", "none", "key_and_read", "read_without_bound"}
    assert set(turns) == set(TURNS)
    assert {first for first, *_ in scripts} == {*OUTCOMES, "part"}
    assert BOUND < POLICY.deadline < RETENTION


@pytest.mark.parametrize("stall", [1.0, RETENTION + 50])
def test_a_decision_to_send_the_key_again_is_not_carried_out_once_it_is_old(stall: float) -> None:
    """The process sleeps after the decision and before the save; nobody takes its record over."""
    end = game(KEY, ("t1", "t1"), ("lost_ack",))
    caller = end.callers[0]
    while not (caller.step is not None and caller.step.do == "hold"):
        caller.go()
    end.world.pass_until(end.world.now + stall)
    end.beat()
    told = caller.run()
    assert len(end.world.effects) == 1
    assert told.kind == ("done" if stall < RETENTION else "unresolved")
