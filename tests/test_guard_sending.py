"""Rules 1, 2 and 4: what is recorded before a send, what an attempt proves, how often is sent."""

from pathlib import Path
from typing import Any, Literal

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Lab,
    LabMaker,
    changed,
    every_guard,
)
from retry_guard import Done, NotExecuted, Policy
from retry_guard_contracts import Contract, Key, Sign
from retry_guard_core import Record
from retry_guard_ledgers import SQLiteLedger, about


@every_guard
def test_a_call_that_is_answered_sends_once_and_gives_the_tools_own_value(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    outcome = lab.guard(PLAIN).done(call_id="call_1")
    assert (outcome.value, outcome.replayed, outcome.warning) == ({"id": "ch_1"}, False, None)
    assert lab.service.requests == [ARGUMENTS]
    record = lab.only()
    assert (record.state, record.delivered, record.turn) == ("done", True, "t1")
    assert about(record).call_ids == ("call_1",)


@every_guard
def test_every_send_is_on_record_before_it_leaves(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", "lost_ack")
    seen: list[Record] = []

    def send(arguments: Args, extra: Extra) -> object:
        seen.append(lab.only())  # a connection of its own, as another process sees it
        return lab.service.send(arguments, extra)

    lab.guard(KEYED).done(send=send)
    assert [len(record.sends) for record in seen] == [1, 2, 3]
    assert {(record.state, record.ended) for record in seen} == {("open", None)}
    assert [record.key for record in seen] == lab.service.keys
    assert all(record.lease > record.sends[-1] for record in seen)


def test_the_record_is_synced_to_the_disk_before_the_send(tmp_path: Path) -> None:
    lab = Lab("sync", "sqlite", tmp_path)

    def send(arguments: Args, extra: Extra) -> str:
        copy = tmp_path / "copy.db"
        for end in ("", "-wal"):
            source = tmp_path / f"guard.db{end}"
            (tmp_path / f"copy.db{end}").write_bytes(source.read_bytes())
        (record,) = SQLiteLedger(copy).list("acme")
        return record.state

    assert lab.guard(PLAIN).done(send=send).value == "open"


@every_guard
def test_without_key_and_read_back_an_unknown_outcome_is_never_sent_again(
    make: LabMaker, tmp_path: Path
) -> None:
    """B40, B115, B16: C-none escalates, in every later call too."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    first = lab.guard(PLAIN).unresolved()
    assert (first.reason, first.not_before, first.tool) == ("nothing_can_tell", None, "charge")
    for turn in ("t1", "t2", None):
        later = lab.guard(PLAIN, ledger=lab.open()).unresolved(turn=turn)
        assert (later.reason, later.action) == ("nothing_can_tell", first.action)
        lab.clock.sleep(100_000)
    assert len(lab.service.requests) == 1


@every_guard
def test_a_proven_refusal_frees_the_action(make: LabMaker, tmp_path: Path) -> None:
    """B87: connect refused, then the redelivery runs."""
    lab = make(tmp_path)
    lab.service.meet("refused")
    failed = lab.guard(PLAIN).not_executed()
    assert isinstance(failed.error, ConnectionRefusedError)
    assert lab.guard(PLAIN).done().value == {"id": "ch_1"}
    assert len(lab.service.effects) == 1


@every_guard
def test_proof_about_a_later_attempt_settles_that_attempt_alone(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    stored = Contract(
        tool="charge",
        key=Key(param="key", retention=86400.0, errors="stored"),
        not_executed=(Sign(exception="LookupError"),),
    )
    lab.service.meet("lost_ack")
    lab.service.meet(LookupError("no such queue"), times=4)
    outcome = lab.guard(stored).unresolved()
    assert outcome.reason == "nothing_can_tell"
    assert len(lab.service.effects) == 1
    assert lab.only().state == "open"


@every_guard
@pytest.mark.parametrize(("errors", "settles"), [("stored", True), ("not_stored", False)])
def test_a_rejection_reaches_back_only_where_the_server_stores_its_errors(
    make: LabMaker, errors: Literal["stored", "not_stored"], settles: bool, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=Key(param="key", retention=86400.0, errors=errors))
    sent: list[dict[str, Any]] = []

    def send(arguments: Args, extra: Extra) -> object:
        sent.append(arguments)
        if len(sent) == 1:
            raise TimeoutError
        return NotExecuted("422", rejected=True)

    outcome = lab.guard(contract).call(send=send)
    assert isinstance(outcome, NotExecuted) is settles
    assert len(sent) == (2 if settles else 5)


@every_guard
def test_a_contract_says_which_errors_prove_that_nothing_ran(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    contract = Contract(tool="charge", not_executed=(Sign(exception="LookupError"),))
    lab.service.meet(LookupError("no such queue"))
    assert str(lab.guard(contract).not_executed().error) == "no such queue"
    assert lab.guard(contract).done().value == {"id": "ch_1"}


@every_guard
def test_re_issues_are_limited_per_call(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", times=10)
    guard = lab.guard(KEYED, policy=Policy(attempts=2))
    assert guard.unresolved().reason == "nothing_can_tell"
    assert len(lab.service.requests) == 3
    guard.unresolved()
    assert len(lab.service.requests) == 5
    assert len(set(lab.service.keys)) == 1


@every_guard
def test_a_server_that_still_runs_the_first_send_costs_no_attempt(
    make: LabMaker, tmp_path: Path
) -> None:
    """B80: 409 with the key in use: wait, and the same key again."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    lab.service.meet("in_progress", times=6)
    outcome = lab.guard(KEYED, policy=Policy(attempts=1)).done()
    assert outcome.value == {"id": "ch_1"}
    assert (len(lab.service.keys), len(set(lab.service.keys))) == (8, 1)


@every_guard
def test_a_refusal_as_duplicate_after_an_unknown_is_evidence_to_read_by(
    make: LabMaker, tmp_path: Path
) -> None:
    """B89: 409 "already exists" after an unknown."""
    lab = make(tmp_path)
    both = changed(READABLE, key=KEYED.key)
    lab.service.meet("lost_ack", "exists")
    outcome = lab.guard(both).done()
    assert outcome.value == {"id": "ch_1"}
    assert (len(lab.service.requests), lab.service.reads) == (2, 1)


@every_guard
def test_three_lost_answers_are_one_record_with_its_sends(make: LabMaker, tmp_path: Path) -> None:
    """B138: a refund whose answer is lost three times, then comes."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack", "lost_ack", "lost_ack")
    lab.guard(KEYED).done()
    record = lab.only()
    assert (record.state, len(record.sends)) == ("done", 4)
    assert len(lab.service.effects) == 1


OPEN = {"unknown": [{"message": "^BookingError"}, {"exception": "PermissionError"}]}


@every_guard
@pytest.mark.parametrize(
    "told",
    [
        {"error": "BookingError"},
        {"content": [{"type": "text", "text": "BookingError: 500"}]},
        "BookingError",
        NotExecuted({"message": "BookingError"}),
        Done({"error": "BookingError"}),
        PermissionError("no"),
        RuntimeError("BookingError"),
    ],
)
def test_a_contract_says_which_results_prove_nothing_though_they_look_like_an_end(
    make: LabMaker, told: object, tmp_path: Path
) -> None:
    def send(_arguments: Args, _extra: Extra) -> object:
        if isinstance(told, Exception):
            raise told
        return told

    stated = Contract(tool="charge", not_executed=[{"message": "Error"}], **OPEN)
    lab = make(tmp_path)
    assert lab.guard(stated).unresolved(send=send).reason == "nothing_can_tell"
    assert lab.only().state == "open"


@every_guard
def test_a_failure_that_is_told_as_a_result_is_sent_again_under_its_key(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    keys: list[object] = []

    def send(arguments: Args, _extra: Extra) -> object:
        keys.append(arguments["key"])
        return {"error": "BookingError"} if len(keys) == 1 else {"id": "bk_1"}

    stated = KEYED.model_copy(update=OPEN)
    assert lab.guard(stated).call(send=send) == Done({"id": "bk_1"})
    assert len(keys) == 2
    assert len(set(keys)) == 1
