"""What a ledger knows of an action can be asked without a claim, and is what a claim would say."""

import pytest

from ledger_suite import (
    LEASE,
    at,
    began,
    each_ledger,
    ended,
    name_of,
    named,
    new,
    settled,
    stored,
)
from retry_guard_core import Record
from retry_guard_ledgers import OpenedLedger, about

ledger = each_ledger


def asked(ledger: OpenedLedger, draft: Record) -> Record | None:
    """What is known, having seen that the question changed nothing."""
    before = ledger.list()
    known = ledger.known(draft)
    assert ledger.list() == before
    return known


def test_nothing_is_known_of_another_action_or_scope(ledger: OpenedLedger) -> None:
    assert asked(ledger, new()) is None
    ended(ledger, new())
    assert asked(ledger, new(b"other")) is None
    assert asked(ledger, named(new(), scope="globex")) is None


def test_an_open_record_is_known_and_left_to_its_holder(ledger: OpenedLedger) -> None:
    """Also when its lease is out: whoever only asks takes nothing over."""
    mine = began(ledger, new())
    late = new(time=mine.claimed + 10 * LEASE, turn="turn-9")
    known = asked(ledger, late)
    assert known == mine
    assert ledger.claim(late, None, at(late.claimed)).owner == late.owner


@pytest.mark.parametrize("state", ["done", "not_executed", "abandoned"])
@pytest.mark.parametrize("turn", ["turn-1", "turn-2", None])
@pytest.mark.parametrize("told", [False, True])
def test_it_is_what_a_claim_would_be_answered_with(
    ledger: OpenedLedger,
    state: str,
    turn: str | None,
    told: bool,
) -> None:
    first = ended(ledger, new(turn="turn-1"), state)
    if told:
        ledger.deliver("acme", about(first).id, "turn-2")
    second = began(ledger, new(turn="turn-3"))
    assert ledger.save(settled(second, time=120.0))
    ledger.deliver("acme", about(second).id, "turn-3")
    draft = new(turn=turn, time=200.0)
    known = asked(ledger, draft)
    claimed = ledger.claim(draft, None, at(200.0))
    assert known == claimed
    assert known is not None
    mine = turn == "turn-1" or (state == "done" and (not told or turn == "turn-2"))
    assert name_of(known) == name_of(first if mine and turn is not None else known)
    assert stored(ledger, second).state == "done"
