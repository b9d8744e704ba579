"""Nine broken guards, each shown to be broken by a small world in which the real one is right."""

from dataclasses import dataclass, replace
from types import ModuleType

import pytest

import retry_guard_core
import toy_driver
import toy_ledger
from retry_guard_core import Record, Terms
from toy_checks import judge
from toy_game import Game
from toy_mutants import DRIVER, LEDGER, MUTANTS, Mutant, load, mutants
from toy_schedules import explore
from toy_world import KEY, NONE, READ, Outcome, World


def snapshot(world: World, record: Record) -> Record | None:
    """An operator who tells what the service shows now, while a request may be on its way."""
    made = [effect.value for effect in world.effects]
    if made:
        return replace(record, state="done", value=made[0], asked_at=world.now)
    return replace(record, answer="did_not_happen", asked_at=world.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A small world: the contract, what becomes of each send, and who calls."""

    terms: Terms
    script: tuple[Outcome, ...]
    turns: tuple[str | None, ...] = ("t1", "t1")
    exclusive: bool = True
    operator: toy_driver.Operator | None = None
    crashes: int = 0
    suspensions: int = 0


SCENES = {
    "later_proof_settles_the_whole_action": Scene(terms=KEY, script=("lost_ack", "refused")),
    "absence_is_trusted_at_once": Scene(terms=READ, script=("late",)),
    "an_expired_lease_runs_again": Scene(terms=NONE, script=("lost_ack",), crashes=1),
    "sent_after_a_refused_save": Scene(terms=READ, script=("lost_request",), suspensions=1),
    "a_new_key_on_re_issue": Scene(terms=KEY, script=("lost_ack",)),
    "the_second_callers_arguments_are_sent": Scene(terms=KEY, script=("lost_request",), crashes=1),
    "unresolved_is_matched_only_in_its_turn": Scene(
        terms=NONE, script=("lost_ack",), turns=("t1", "t2")
    ),
    "did_not_happen_is_believed_too_early": Scene(terms=NONE, script=("late",), operator=snapshot),
    "anothers_effect_is_adopted": Scene(terms=READ, script=("lost_request",), exclusive=False),
}


def game(scene: Scene, core: ModuleType, ledgers: ModuleType, drivers: ModuleType) -> Game:
    world = World(scene.terms, scene.script, exclusive=scene.exclusive)
    ledger = ledgers.ToyLedger()
    if not scene.exclusive:
        world.foreign(world.now + 1)
    callers = [
        drivers.Caller(
            name,
            world,
            ledger,
            turn=turn,
            arguments=f"as {name} gives them",
            operator=scene.operator,
            core=core,
        )
        for name, turn in zip("AB", scene.turns, strict=True)
    ]
    return Game(world, ledger, callers, scene.crashes, scene.suspensions)


def problems(scene: Scene, mutant: Mutant | None) -> set[str]:
    """What goes wrong in some order of two calls, with a crash and a lease that runs out."""
    module = None if mutant is None else load(mutant)
    parts: dict[str, ModuleType] = {LEDGER: toy_ledger, DRIVER: toy_driver}
    core: ModuleType = retry_guard_core
    if mutant is not None and module is not None:
        if mutant.module in parts:
            parts[mutant.module] = module
        else:
            core = module
    found: set[str] = set()
    explore(
        lambda: game(scene, core, parts[LEDGER], parts[DRIVER]),
        lambda end: found.update(judge(end)),
    )
    return found


def test_there_are_nine_broken_guards_each_with_a_scene_of_its_own() -> None:
    assert [name for name, _ in mutants()] == list(SCENES)
    assert len(SCENES) == 9


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_real_guard_is_right_where_the_broken_one_is_not(mutant: Mutant) -> None:
    scene = SCENES[mutant.name]
    assert problems(scene, None) == set()
    assert problems(scene, mutant) != set()


def test_a_broken_guard_whose_text_is_gone_from_the_source_fails_loudly() -> None:
    gone = replace(MUTANTS[0], old="no such text")
    with pytest.raises(AssertionError, match="stands 0 times"):
        load(gone)
