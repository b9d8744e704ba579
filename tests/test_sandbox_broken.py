"""`ab` catches each of nine broken guards in a cell of its own, and passes the guard that is whole.

Those of the core are the mutants of `toy_mutants`, run by the shipped driver; the others break
the shipped code that plays the part of the toy driver or ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from retry_guard import Contract, _attempt, _base, _call, _driver
from retry_guard._call import Call, Request, Site
from retry_guard_contracts import _attribution, _evidence
from retry_guard_ledgers import about
from retry_guard_sandbox import Grid, Report, report, run_all
from toy_mutants import DRIVER, LEDGER, MUTANTS, Mutant, load

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A small part of the grid. `operators` and `harness` are by what the breakage takes."""

    faults: tuple[str, ...]
    services: tuple[str, ...]
    contracts: tuple[str, ...] = ("native",)
    harness: tuple[str, ...] = ("none",)
    operators: tuple[str, ...] = ("fencing",)
    agents: tuple[str, ...] = ("retry",)
    attempts_hit: tuple[str, ...] = ("1",)
    seeds: int = 3

    def report(self) -> Report:
        """Run both arms here."""
        grid = Grid(
            contracts=self.contracts,
            faults=self.faults,
            services=self.services,
            harness=self.harness,
            operators=self.operators,
            agents=self.agents,
            attempts_hit=self.attempts_hit,
            seeds=self.seeds,
        )
        return report(run_all(grid.specs()))


KEYED = ("keys_everywhere",)
CELLS = {
    "later_proof_settles_the_whole_action": Cell(
        faults=("lost_ack",), services=("tickets",), contracts=KEYED, harness=("outage",)
    ),
    "absence_is_trusted_at_once": Cell(faults=("late_commit",), services=("database",)),
    "an_expired_lease_runs_again": Cell(
        faults=("none",), services=("social",), harness=("crash_resume",)
    ),
    "sent_after_a_refused_save": Cell(
        faults=("error_before",), services=("deploy",), harness=("suspended_holder",), seeds=4
    ),
    "a_new_key_on_re_issue": Cell(faults=("lost_ack",), services=("mail",), contracts=KEYED),
    "the_second_callers_arguments_are_sent": Cell(
        faults=("none",), services=("tickets",), harness=("paraphrase",), seeds=4
    ),
    "unresolved_is_matched_only_in_its_turn": Cell(
        faults=("lost_ack",), services=("social",), harness=("user_retry",), operators=("silent",)
    ),
    "did_not_happen_is_believed_too_early": Cell(
        faults=("late_commit",), services=("social",), operators=("snapshot",)
    ),
    "anothers_effect_is_adopted": Cell(
        faults=("lost_request",), services=("social",), harness=("another_writer",)
    ),
}


def second_callers_arguments(patch: Patch) -> None:
    """Send what this caller gives, whatever is recorded."""

    def given(call: Call, *_: object) -> dict[str, Any]:
        return dict(call.arguments)

    patch.setattr(_attempt, "recorded", given)


def turns_apart(patch: Patch) -> None:
    """Let no action be met outside of its turn."""
    begin = _call.begin

    def apart(contract: Contract, request: Request, site: Site) -> Call:
        call = begin(contract, request, site)
        action = about(call.draft)
        turn = (call.draft.turn or "").encode()
        draft = replace(call.draft, about=replace(action, identity=action.identity + turn))
        return replace(call, draft=draft)

    patch.setattr(_base, "begin", apart)


def anothers_effect(patch: Patch) -> None:
    """Take whatever looks like ours for ours."""
    whose = _attribution.whose

    def ours(case: _attribution.Case, item: object) -> str:
        said = whose(case, item)
        return "ours" if said == "foreign" else said

    patch.setattr(_evidence, "whose", ours)


SHIPPED: dict[str, Callable[[Patch], None]] = {
    "the_second_callers_arguments_are_sent": second_callers_arguments,
    "unresolved_is_matched_only_in_its_turn": turns_apart,
    "anothers_effect_is_adopted": anothers_effect,
}


def break_it(mutant: Mutant, patch: Patch) -> None:
    if mutant.module in (DRIVER, LEDGER):
        SHIPPED[mutant.name](patch)
    else:
        patch.setattr(_driver, "guarded", load(mutant).guarded)


every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=[m.name for m in MUTANTS])


@every_mutant
def test_a_broken_guard_blocks_in_its_cell(mutant: Mutant, monkeypatch: Patch) -> None:
    break_it(mutant, monkeypatch)
    result = CELLS[mutant.name].report()
    assert (result.verdict, result.exit_code) == ("block", 1), result.findings


@every_mutant
def test_the_whole_guard_passes_there(mutant: Mutant) -> None:
    result = CELLS[mutant.name].report()
    assert (result.verdict, result.exit_code) == ("pass", 0), result.findings


def test_there_is_a_cell_for_each() -> None:
    assert set(CELLS) == {mutant.name for mutant in MUTANTS}
    assert set(SHIPPED) == {m.name for m in MUTANTS if m.module in (DRIVER, LEDGER)}
