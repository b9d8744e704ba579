"""What a ledger knows of an action can be asked without a claim, and is what a claim would say."""

import pytest

from ledger_suite import (
    LEASE,
    at,
    began,
    each_ledger,  # noqa: F401 - a fixture
    ended,
    name_of,
    named,
    new,
    settled,
    stored,
)
from retry_guard_core import Record
from retry_guard_ledgers import OpenedLedger, about


def asked(ledger: OpenedLedger, draft: Record) -> Record | None:
    """What is known, having seen that the question changed nothing."""
    before = ledger.list()
    known = ledger.known(draft)
    assert ledger.list() == before
    return known


def test_nothing_is_known_of_another_action_or_scope(each_ledger: OpenedLedger) -> None:  # noqa: F811 - the fixture
    assert asked(each_ledger, new()) is None
    ended(each_ledger, new())
    assert asked(each_ledger, new(b"other")) is None
    assert asked(each_ledger, named(new(), scope="globex")) is None


def test_an_open_record_is_known_and_left_to_its_holder(each_ledger: OpenedLedger) -> None:  # noqa: F811 - the fixture
    """Also when its lease is out: whoever only asks takes nothing over."""
    mine = began(each_ledger, new())
    late = new(time=mine.claimed + 10 * LEASE, turn="turn-9")
    known = asked(each_ledger, late)
    assert known == mine
    assert each_ledger.claim(late, None, at(late.claimed)).owner == late.owner


@pytest.mark.parametrize("state", ["done", "not_executed", "abandoned"])
@pytest.mark.parametrize("turn", ["turn-1", "turn-2", None])
@pytest.mark.parametrize("told", [False, True])
def test_it_is_what_a_claim_would_be_answered_with(
    each_ledger: OpenedLedger,  # noqa: F811 - the fixture
    state: str,
    turn: str | None,
    told: bool,
) -> None:
    first = ended(each_ledger, new(turn="turn-1"), state)
    if told:
        each_ledger.deliver("acme", about(first).id, "turn-2")
    second = began(each_ledger, new(turn="turn-3"))
    assert each_ledger.save(settled(second, time=120.0))
    each_ledger.deliver("acme", about(second).id, "turn-3")
    draft = new(turn=turn, time=200.0)
    known = asked(each_ledger, draft)
    claimed = each_ledger.claim(draft, None, at(200.0))
    assert known == claimed
    assert known is not None
    mine = turn == "turn-1" or (state == "done" and (not told or turn == "turn-2"))
    assert name_of(known) == name_of(first if mine and turn is not None else known)
    assert stored(each_ledger, second).state == "done"
