"""What the proxy records without waiting: a delivery counts only once the client has its answer."""

from dataclasses import replace
from pathlib import Path

import pytest

from ledger_suite import at, new
from retry_guard_core import Record
from retry_guard_ledgers import SQLiteLedger, about
from retry_guard_mcp_proxy._late import Deliveries, LateLedger


def done(ledger: SQLiteLedger) -> tuple[LateLedger, Record]:
    """A ledger in which an action has ended, told of it without waiting."""
    late, record = LateLedger(ledger), ledger.claim(new(), None, at(100))
    assert late.prompt is not None
    assert late.prompt.save(replace(record, state="done", value=b'"x"', settled_at=101.0))
    return late, record


def is_delivered(ledger: SQLiteLedger, record: Record) -> bool:
    found = ledger.get("acme", about(record).id)
    assert found is not None
    return found.delivered


def test_a_delivery_is_kept_back_until_the_client_has_the_answer(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "guard.db")
    late, record = done(ledger)
    assert late.prompt is not None
    with Deliveries(record.turn) as here:
        late.prompt.deliver("acme", about(record).id, record.turn)
    assert not is_delivered(ledger, record)
    late.prompt.delivered(here)
    assert is_delivered(ledger, record)


def test_what_is_noted_for_another_turn_is_not_kept_back(tmp_path: Path) -> None:
    """Such as that of the call whose own key named the action first: it is no delivery here."""
    ledger = SQLiteLedger(tmp_path / "guard.db")
    late, record = done(ledger)
    assert late.prompt is not None
    with Deliveries("another turn") as here:
        late.prompt.deliver("acme", about(record).id, record.turn)
    assert here.noted == []
    assert is_delivered(ledger, record)


def test_what_is_taken_back_meanwhile_is_never_noted(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "guard.db")
    late, record = done(ledger)
    assert late.prompt is not None
    with Deliveries(record.turn) as here:
        late.prompt.deliver("acme", about(record).id, record.turn)
        late.prompt.deliver("acme", about(record).id, record.turn, back=True)
    late.prompt.delivered(here)
    assert not is_delivered(ledger, record)


def test_outside_of_a_call_nothing_is_kept_back(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "guard.db")
    late, record = done(ledger)
    with Deliveries(record.turn):
        pass
    assert late.prompt is not None
    late.prompt.deliver("acme", about(record).id, record.turn)
    assert is_delivered(ledger, record)


def test_a_ledger_that_cannot_do_without_waiting_makes_nobody_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SQLiteLedger, "prompt", None)
    assert LateLedger(SQLiteLedger(tmp_path / "guard.db")).prompt is None
