"""Rules 1 and 17: without a record nothing is sent; after the effect nothing is thrown away."""

from pathlib import Path

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Flaky,
    Lab,
    LabMaker,
    every_guard,
    gives,
)
from retry_guard import Contract, LedgerError, NotExecuted, Unresolved


@every_guard
def test_a_write_that_cannot_be_recorded_is_not_sent(make: LabMaker, tmp_path: Path) -> None:
    """B70: the store fails on claim."""
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    flaky.down = {"claim"}
    with pytest.raises(LedgerError, match="mend it"):
        lab.guard(PLAIN, ledger=flaky).call()
    assert lab.service.requests == []
    flaky.down = set()
    assert lab.guard(PLAIN, ledger=flaky).done().value == {"id": "ch_1"}


@every_guard
def test_a_key_of_the_callers_that_cannot_be_looked_up_is_not_sent(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    flaky.down = {"find"}
    with pytest.raises(LedgerError):
        lab.guard(KEYED, ledger=flaky).call({**ARGUMENTS, "key": "mine"})
    assert lab.service.requests == []


@every_guard
def test_reads_pass_with_the_ledger_down(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    flaky.down = {"all"}
    guard = lab.guard(Contract(tool="get_charge", effect="read"), ledger=flaky)
    assert guard.done(tool="get_charge", send=gives(7)).value == 7
    assert flaky.calls == []


@every_guard
def test_a_completion_that_cannot_be_recorded_is_told_and_never_sent_again(
    make: LabMaker, tmp_path: Path
) -> None:
    """B70: the store fails only on completion: the row stays unknown."""
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    guard = lab.guard(PLAIN, ledger=flaky)

    def send(arguments: Args, extra: Extra) -> object:
        flaky.down = {"all"}
        return lab.service.send(arguments, extra)

    outcome = guard.done(send=send)
    assert outcome.value == {"id": "ch_1"}
    assert outcome.warning is not None
    assert "the record could not take it" in outcome.warning
    flaky.down = set()
    assert lab.only().state == "open"
    for turn in ("t1", "t2", None):
        assert guard.unresolved(turn=turn).reason in ("still_running", "nothing_can_tell")
        lab.clock.sleep(60)
    assert len(lab.service.requests) == 1


@every_guard
def test_a_failing_hand_over_note_is_told_too(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    flaky.down = {"deliver"}
    guard = lab.guard(PLAIN, ledger=flaky)
    assert guard.done().warning is not None
    assert guard.done().replayed
    assert len(lab.service.requests) == 1
    flaky.down = set()
    guard.done({"n": 1}, turn="t1")
    flaky.down = {"deliver"}
    second = guard.done({"n": 1}, turn="t2")
    assert second.warning is not None
    assert "shortly before" in second.warning
    assert "could not take it" in second.warning


@every_guard
@pytest.mark.parametrize("fails_for", ["good", "a moment"])
def test_a_re_issue_that_cannot_be_recorded_is_not_sent(
    make: LabMaker, fails_for: str, tmp_path: Path
) -> None:
    """N4: even where the ledger works again when the claim is asked anew."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    flaky = Flaky(lab.ledger)
    flaky.failing = lambda verb, given: (
        verb == "save" and (fails_for == "good" or flaky.calls.count("save") == 1)
    )
    outcome = lab.guard(KEYED, ledger=flaky).unresolved()
    assert (outcome.reason, outcome.not_before) == ("ledger_unavailable", None)
    assert len(lab.service.requests) == 1
    lab.clock.sleep(31)
    assert lab.guard(KEYED).done().value == {"id": "ch_1"}
    assert lab.only().sends[0] <= lab.only().sends[1]
    assert len(lab.service.effects) == 1


@every_guard
def test_a_proof_that_nothing_ran_is_told_though_it_cannot_be_recorded(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)

    def send(arguments: Args, extra: Extra) -> object:
        flaky.down = {"save"}
        raise ConnectionRefusedError("nobody listens")

    outcome = lab.guard(PLAIN, ledger=flaky).call(send=send)
    assert isinstance(outcome, NotExecuted)
    assert str(outcome.error) == "nobody listens"
    assert flaky.calls.count("claim") == 1


@every_guard
def test_the_reason_stands_though_the_lease_could_not_be_given_back(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    flaky = Flaky(lab.ledger)
    flaky.down = {"save"}
    assert lab.guard(PLAIN, ledger=flaky).unresolved().reason == "nothing_can_tell"


@every_guard
def test_what_stops_a_call_is_raised_though_the_ledger_fails_too(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)

    class Interrupt(BaseException):
        pass

    def ask(question: Unresolved) -> None:
        flaky.down = {"save"}
        raise Interrupt

    lab.service.meet("lost_ack")
    with pytest.raises(Interrupt):
        lab.guard(PLAIN, ledger=flaky, ask=ask).call()


@every_guard
def test_a_read_back_that_cannot_ask_the_ledger_shows_nothing(
    make: LabMaker, tmp_path: Path
) -> None:
    """Whether another action made the effect is not known, so it is not adopted."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    flaky = Flaky(lab.ledger)
    flaky.down = {"find"}
    outcome = lab.guard(READABLE, ledger=flaky).unresolved()
    assert outcome.reason in ("not_conclusive", "too_late")
    assert len(lab.service.requests) == 1


def test_a_ledger_that_another_process_locks_fails_closed(tmp_path: Path) -> None:
    """B107: the lock is held longer than the ledger waits."""
    import sqlite3

    from retry_guard_ledgers import SQLiteLedger

    lab = Lab("sync", "sqlite", tmp_path)
    ledger = SQLiteLedger(lab.path, busy=0.01)
    other = sqlite3.connect(lab.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError):
        lab.guard(PLAIN, ledger=ledger).call()
    other.execute("ROLLBACK")
    other.close()
    assert lab.service.requests == []
    assert lab.guard(PLAIN, ledger=ledger).done().value == {"id": "ch_1"}
