"""Rule 1: the holder looks at its lease right before each send."""

from pathlib import Path

import pytest

from guards import (
    KEYED,
    PLAIN,
    START,
    Args,
    Extra,
    HandClock,
    Lab,
    LabMaker,
    every_guard,
)
from retry_guard import Contract, NotExecuted
from retry_guard_core import Now, Record
from retry_guard_ledgers import MemoryLedger


class LateClock(HandClock):
    """Stands still while calls are prepared, then jumps, as when a machine was suspended."""

    def __init__(self, jump_at: int, by: float) -> None:
        super().__init__()
        self.looks, self.jump_at, self.by = 0, jump_at, by

    def now(self) -> Now:
        self.looks += 1
        if self.looks == self.jump_at:
            self.at += self.by
        return super().now()


@every_guard
@pytest.mark.parametrize("look", range(1, 8))
def test_nothing_is_sent_by_a_holder_whose_lease_ran_out(
    make: LabMaker, look: int, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    clock = LateClock(look, 31.0)
    leases: list[float] = []

    def send(arguments: Args, extra: Extra) -> object:
        leases.append(lab.only().lease - clock.at)
        return lab.service.send(arguments, extra)

    outcome = lab.guard(PLAIN, clock=clock).call(send=send)
    assert all(left > 0 for left in leases)
    if not leases:
        assert outcome == NotExecuted("stopped before anything was sent")
        assert lab.only().state == "not_executed"
    assert lab.guard(PLAIN, clock=clock).done().value == {"id": "ch_1"}
    assert len(lab.service.effects) == 1


def test_the_lease_is_looked_at_after_the_save_of_a_re_issue(tmp_path: Path) -> None:
    """B92: the clock jumps beyond the lease between the save and the send."""
    lab = Lab("sync", "memory", tmp_path)
    saves: list[Record] = []

    class Slow(MemoryLedger):
        def save(self, record: Record) -> bool:
            saved = super().save(record)
            saves.append(record)
            if len(saves) == 1:
                lab.clock.at += 31
            return saved

    ledger = Slow()
    lab.service.meet("lost_ack")
    guard = lab.guard(KEYED, ledger=ledger)
    sent_at: list[float] = []

    def send(arguments: Args, extra: Extra) -> object:
        sent_at.append(lab.clock.at)
        (record,) = ledger.list("acme")
        assert record.lease > lab.clock.at
        return lab.service.send(arguments, extra)

    guard.done(send=send)
    assert len(sent_at) == 2
    assert sent_at[1] > START + 31
    assert len(lab.service.effects) == 1


@pytest.mark.parametrize("look", range(4, 16))
def test_a_key_never_goes_out_beyond_its_retention_wherever_the_call_stalls(
    look: int, tmp_path: Path
) -> None:
    """The process stalls between any two looks at the clock, for longer than the key is known."""
    lab = Lab("sync", "memory", tmp_path)
    clock = LateClock(look, 250.0)
    contract = Contract(tool="charge", key={"param": "idempotency_key", "retention": 200})
    lab.service.meet("lost_ack")
    sent_at: list[float] = []

    def send(arguments: Args, extra: Extra) -> object:
        sent_at.append(clock.at)
        return lab.service.send(arguments, extra)

    lab.guard(contract, clock=clock).call(send=send)
    assert all(at - sent_at[0] < 200 for at in sent_at)
