"""Rule 3: keys that the caller chose: kept, replaced or refused."""

from pathlib import Path
from typing import Any

from guards import ARGUMENTS, KEYED, START, Args, Extra, LabMaker, Subject, every_guard
from retry_guard import Unknown
from retry_guard_contracts import Contract, Key
from retry_guard_ledgers import about


def forms(
    subject: Subject, arguments: Args, scope: str = "acme", turn: str = "t1"
) -> tuple[str, str | None]:
    """How a call ended, and the key of its request, if it sent one."""
    before = len(subject.service.requests)
    outcome = subject.call(arguments, scope=scope, turn=turn)
    sent = subject.service.keys[before:]
    kind = type(outcome).__name__
    return kind, sent[0] if sent else None


@every_guard
def test_a_callers_own_key_is_kept_and_names_one_action_in_any_turn(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard, mine = lab.guard(KEYED), {**ARGUMENTS, "key": "K"}
    assert forms(guard, mine) == ("Done", "K")
    assert b"K" not in about(lab.only()).arguments
    for turn in ("t1", "t2", None):
        assert guard.done({**mine, "key": "K"}, turn=turn).replayed
    assert guard.done({**ARGUMENTS, "key": "other"}, turn="t1").replayed
    assert guard.done(ARGUMENTS, turn="t1").replayed
    assert len(lab.service.requests) == 1


@every_guard
def test_a_callers_own_key_names_one_action_where_there_are_no_turns(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard, mine = lab.guard(KEYED), {**ARGUMENTS, "key": "K"}
    guard.done(mine, turn=None)
    for turn in (None, "t2", None):
        lab.clock.sleep(1000)
        assert guard.done(mine, turn=turn).replayed
    assert guard.done({**ARGUMENTS, "key": "other"}, turn="t2").replayed
    assert len(lab.service.requests) == 1


@every_guard
def test_a_repeat_by_key_counts_as_the_answer_of_its_own_turn(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(KEYED)
    guard.done({**ARGUMENTS, "key": "K"}, turn="t1")
    guard.done({**ARGUMENTS, "key": "K"}, turn="t2")
    assert guard.done({**ARGUMENTS, "key": "L"}, turn="t2").replayed
    assert len(lab.service.requests) == 1


@every_guard
def test_a_key_that_an_unresolved_action_holds_is_refused_for_anything_else(
    make: LabMaker, tmp_path: Path
) -> None:
    """B79, B65: the same key with other parameters, refused here and naming the field."""
    lab = make(tmp_path)
    guard = lab.guard(KEYED)
    lab.service.meet("lost", times=5)
    first = guard.unresolved({**ARGUMENTS, "key": "K"})
    before = len(lab.service.requests)
    conflict = guard.unresolved({**ARGUMENTS, "amount": 99, "meta": {"try": 2}, "key": "K"})
    assert (conflict.reason, conflict.action) == ("key_conflict", first.action)
    assert "amount, meta" in conflict.text
    assert len(lab.service.requests) == before
    assert forms(guard, {**ARGUMENTS, "key": "K"}, turn="t9") == ("Done", "K")


@every_guard
def test_a_key_wins_over_the_identity(make: LabMaker, tmp_path: Path) -> None:
    """Rules 3 and 11 both apply: refused, though other content would go on without a key."""
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=KEYED.key, identity={"order": "exact"})
    guard = lab.guard(contract)
    lab.service.meet("lost", times=5)
    guard.unresolved({"order": 1, "note": "a", "key": "K"})
    refused = guard.unresolved({"order": 1, "note": "b", "key": "K"})
    assert refused.reason == "key_conflict"
    assert "note" in refused.text
    assert len(lab.service.requests) == 5


@every_guard
def test_a_key_known_from_a_done_action_is_replaced_and_that_is_told(
    make: LabMaker, tmp_path: Path
) -> None:
    """B65, B73: key K again with another amount: it runs under a key of its own."""
    lab = make(tmp_path)
    guard = lab.guard(KEYED)
    guard.done({**ARGUMENTS, "key": "K"})
    outcome = guard.done({**ARGUMENTS, "amount": 99, "key": "K"})
    assert outcome.warning is not None
    assert "key" in outcome.warning
    assert outcome.value == {"id": "ch_2"}
    assert lab.service.keys[0] == "K" != lab.service.keys[1]


@every_guard
def test_a_key_of_a_refused_send_is_replaced_and_that_is_told(
    make: LabMaker, tmp_path: Path
) -> None:
    """A server that stores errors would replay the old refusal."""
    lab = make(tmp_path)
    guard = lab.guard(KEYED)
    lab.service.meet("refused")
    guard.not_executed({**ARGUMENTS, "key": "K"})
    outcome = guard.done({**ARGUMENTS, "key": "K"})
    assert lab.service.keys[0] == "K" != lab.service.keys[1]
    assert outcome.warning is not None


@every_guard
def test_a_key_of_another_scope_or_tool_is_of_no_account(make: LabMaker, tmp_path: Path) -> None:
    """B73: the key is bound to tool and account."""
    lab = make(tmp_path)
    other = Contract(tool="refund", key=KEYED.key)
    guard = lab.guard(KEYED, other)
    lab.service.meet("lost", times=5)
    guard.unresolved({**ARGUMENTS, "key": "K"})
    assert forms(guard, {**ARGUMENTS, "key": "K"}, scope="globex") == ("Done", "K")
    refused = guard.unresolved({**ARGUMENTS, "key": "K"}, tool="refund")
    assert refused.reason == "key_conflict"


@every_guard
def test_a_server_that_ignores_mismatches_never_gets_the_callers_key(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=Key(param="key", retention=86400.0, mismatch="ignored"))
    kind, key = forms(lab.guard(contract), {**ARGUMENTS, "key": "K"})
    assert kind == "Done"
    assert key not in ("K", None)


@every_guard
def test_a_service_that_refuses_mismatches_never_sees_one(make: LabMaker, tmp_path: Path) -> None:
    """B86: the fourth service, 422 on other parameters under a known key."""
    lab = make(tmp_path)
    known: dict[str, Any] = {}

    def send(arguments: Args, extra: Extra) -> object:
        first = known.setdefault(arguments["key"], arguments)
        assert first == arguments, "422"
        return Unknown(TimeoutError()) if len(known) == 1 and first is arguments else "ok"

    guard = lab.guard(KEYED)
    assert guard.done({**ARGUMENTS, "key": "K"}, send=send).value == "ok"
    assert guard.done({**ARGUMENTS, "amount": 7, "key": "K"}, send=send).value == "ok"
    assert len(known) == 2
    assert lab.clock.at > START
