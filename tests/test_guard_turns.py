"""Rules 8 to 11: whose call it is, and whether it is the same action."""

from pathlib import Path
from typing import Any, Literal

import pytest

from guards import ARGUMENTS, KEYED, PLAIN, Args, Extra, LabMaker, every_guard, gives
from retry_guard import Contract, Done, Policy
from retry_guard_ledgers import about


@every_guard
@pytest.mark.parametrize(
    "again",
    [
        {"call_id": "c1"},
        {"call_id": "c2"},
        {"ordinal": 1},
        {"arguments": {"amount": 5.0, "customer": "c1"}},
    ],
)
def test_a_repeat_in_its_turn_replays_the_first_result(
    make: LabMaker, again: dict[str, Any], tmp_path: Path
) -> None:
    """B22, B20, B12, B39, B42, B122, B123, B125, B127: whatever the call id is."""
    lab = make(tmp_path)
    lab.guard(PLAIN).done(call_id="c1")
    for _ in range(3):
        outcome = lab.guard(PLAIN, ledger=lab.open()).done(**{"arguments": ARGUMENTS, **again})
        assert (outcome.value, outcome.replayed, outcome.warning) == ({"id": "ch_1"}, True, None)
    assert len(lab.service.requests) == 1


@every_guard
def test_a_delivered_result_is_replayed_in_no_later_turn(make: LabMaker, tmp_path: Path) -> None:
    """B124: a new intent is a new action, and soon after the first it says so."""
    lab = make(tmp_path)
    guard = lab.guard(PLAIN)
    guard.done(turn="t1")
    second = guard.done(turn="t2")
    assert (second.value, second.replayed) == ({"id": "ch_2"}, False)
    assert second.warning is not None
    assert "earlier turn" in second.warning
    lab.clock.sleep(600)
    third = guard.done(turn="t3")
    assert (third.value, third.warning) == ({"id": "ch_3"}, None)
    assert guard.done(turn="t2").value == {"id": "ch_2"}
    assert guard.done(turn="t1").value == {"id": "ch_1"}


@every_guard
@pytest.mark.parametrize("repeat", ["allow", "warn", "escalate"])
def test_the_contract_says_what_an_equal_call_in_a_later_turn_gets(
    make: LabMaker, repeat: Literal["allow", "warn", "escalate"], tmp_path: Path
) -> None:
    """B124, B133: pairs that pull in opposite directions."""
    lab = make(tmp_path)
    guard = lab.guard(Contract(tool="charge", repeat=repeat, repeat_window=100.0))
    guard.done(turn="t1")
    lab.clock.sleep(99)
    second = guard.call(turn="t2")
    assert isinstance(second, Done) is (repeat != "escalate")
    if isinstance(second, Done):
        assert (second.warning is None) is (repeat == "allow")
    lab.clock.sleep(101)
    assert guard.done(turn="t3").warning is None


@every_guard
def test_a_repeat_that_needs_a_persons_word_runs_with_it(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(Contract(tool="charge", repeat="escalate"))
    guard.done(turn="t1")
    assert guard.unresolved(turn="t2").reason == "repeat_escalate"
    assert guard.unresolved(turn="t2").reason == "repeat_escalate"
    lab.resolve("again")
    assert guard.done(turn="t2").value == {"id": "ch_2"}
    assert guard.done(turn="t2").replayed
    assert len(lab.service.effects) == 2


@every_guard
@pytest.mark.parametrize("turn", ["t2", None])
def test_an_unresolved_action_is_met_in_every_turn_and_process(
    make: LabMaker, turn: str | None, tmp_path: Path
) -> None:
    """B17, B18, B78, B113: what the run forgot, the ledger knows."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack", times=5)
    lab.guard(KEYED).unresolved()
    outcome = lab.guard(KEYED, ledger=lab.open()).done(turn=turn)
    assert outcome.value == {"id": "ch_1"}
    assert len(lab.service.effects) == 1
    if turn is not None:
        assert outcome.warning is not None
        assert "earlier turn began" in outcome.warning
        assert lab.guard(KEYED).done(turn=turn).replayed
        assert len(lab.service.effects) == 1


@every_guard
def test_a_result_that_nobody_received_is_replayed_in_a_later_turn(
    make: LabMaker, tmp_path: Path
) -> None:
    """B59: the answer was lost between the guard and its caller."""
    lab = make(tmp_path)
    lab.guard(PLAIN).done(turn="t1")
    lab.service.meet("lost_ack")
    lab.guard(PLAIN).unresolved({"customer": "c2", "amount": 1})
    lab.resolve("happened")
    outcome = lab.guard(PLAIN).done({"customer": "c2", "amount": 1}, turn="t2")
    assert outcome.replayed
    assert outcome.warning is not None
    assert "earlier turn" in outcome.warning
    assert lab.guard(PLAIN).done({"customer": "c2", "amount": 1}, turn="t2").replayed
    assert len(lab.service.requests) == 2


@every_guard
def test_without_turns_equal_calls_soon_after_one_another_are_one(
    make: LabMaker, tmp_path: Path
) -> None:
    """B124: two runs, 5 s apart."""
    lab = make(tmp_path)
    guard = lab.guard(PLAIN, policy=Policy(turn_window=60.0))
    guard.done(turn=None)
    lab.clock.sleep(5)
    assert guard.done(turn=None).replayed
    lab.clock.sleep(60)
    second = guard.done(turn=None)
    assert (second.value, second.replayed) == ({"id": "ch_2"}, False)


@every_guard
def test_nothing_crosses_a_scope(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(KEYED)
    lab.service.meet("ok")
    lab.service.meet("lost_ack", times=5)
    guard.done(scope="acme")
    first = guard.unresolved(scope="globex")
    assert first.reason == "nothing_can_tell"
    assert guard.done(scope="initech").value == {"id": "ch_3"}
    assert guard.done(scope="acme").replayed
    assert len({key for key in lab.service.keys if key}) == 3
    assert [about(r).scope for r in lab.records(None)] == ["acme", "globex", "initech"]
    assert len({about(r).identity for r in lab.records(None)}) == 3


@every_guard
def test_twins_that_each_count_run_once_per_ordinal(make: LabMaker, tmp_path: Path) -> None:
    """B12: the contract states that each call counts."""
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=KEYED.key, twins="count")
    guard = lab.guard(contract)
    values = [guard.done(ordinal=ordinal).value["id"] for ordinal in (0, 1, 1, 0, 2)]
    assert values == ["ch_1", "ch_2", "ch_2", "ch_1", "ch_3"]
    assert len(set(lab.service.keys)) == 3
    assert [about(record).ordinal for record in lab.records()] == [0, 1, 2]


PAGE = Contract(
    tool="publish",
    identity={"slug": "fold"},
    volatile=("at",),
    defaults={"lang": "en"},
)


@every_guard
def test_other_content_for_a_done_effect_is_refused_and_named(
    make: LabMaker, tmp_path: Path
) -> None:
    """Rule 11, B89: one changed character in what is not the identity."""
    lab = make(tmp_path)
    guard = lab.guard(PAGE)
    page = {"slug": "Hello", "text": "Hi", "at": 1}
    guard.done(page, tool="publish")
    for again in ({**page, "at": 2}, {**page, "slug": "ｈello "}, {**page, "lang": "en"}):
        assert guard.done(again, tool="publish").replayed
    refused = guard.unresolved({**page, "text": "Hi!", "lang": "de"}, tool="publish")
    assert refused.reason == "differs"
    assert "lang, text" in refused.text
    assert len(lab.service.requests) == 1


@every_guard
def test_other_content_for_an_unresolved_effect_goes_on_with_the_recorded_one(
    make: LabMaker, tmp_path: Path
) -> None:
    """Rule 11, B89: the answer says that the new content was not sent."""
    lab = make(tmp_path)
    guard = lab.guard(PAGE)
    lab.service.meet("lost_ack")
    guard.unresolved({"slug": "a", "text": "Hi"}, tool="publish")
    open_still = guard.unresolved({"slug": "a", "text": "Hi!"}, tool="publish")
    assert open_still.reason == "nothing_can_tell"
    assert "(text) were not sent" in open_still.text
    lab.resolve("happened")
    done = guard.unresolved({"slug": "a", "text": "Hi!"}, tool="publish")
    assert done.reason == "differs"
    assert [r["text"] for r in lab.service.requests] == ["Hi"]


@every_guard
def test_two_tools_that_write_one_resource_never_act_for_each_other(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    first = Contract(tool="create", resource="file", identity={"path": "exact"})
    other = Contract(tool="write", resource="file", identity={"path": "exact"})
    guard = lab.guard(first, other)
    lab.service.meet("lost_ack")
    guard.unresolved({"path": "a"}, tool="create")
    met = guard.unresolved({"path": "a"}, tool="write")
    assert met.reason == "other_tool"
    lab.resolve("happened")
    assert guard.done({"path": "a"}, tool="create").replayed
    assert guard.unresolved({"path": "a"}, tool="write").reason == "differs"
    assert len(lab.service.requests) == 1


@every_guard
def test_two_roads_to_one_intent_are_one_action(make: LabMaker, tmp_path: Path) -> None:
    """B131, B132: a sub-agent and its parent, or two agents, in one turn of one account."""
    lab = make(tmp_path)
    parent, child = lab.guard(PLAIN), lab.guard(PLAIN, ledger=lab.open())
    assert child.done(call_id="sub_1").value == {"id": "ch_1"}
    assert parent.done(call_id="main_1").replayed
    assert parent.done({"customer": "c2", "amount": 5}).value == {"id": "ch_2"}


@every_guard
def test_reads_are_never_recognised_delayed_or_recorded(make: LabMaker, tmp_path: Path) -> None:
    """B133: polling."""
    lab = make(tmp_path)
    guard = lab.guard(Contract(tool="status", effect="read"))
    seen = [guard.done({"id": 1}, tool="status", send=gives(n)).value for n in range(20)]
    assert seen == list(range(20))
    assert lab.records(None) == []
    failed = guard.not_executed({"id": 1}, tool="status", send=_unreachable)
    assert isinstance(failed.error, TimeoutError)


def _unreachable(arguments: Args, extra: Extra) -> None:
    raise TimeoutError


@every_guard
def test_an_identical_retry_after_a_restart_is_a_replay(make: LabMaker, tmp_path: Path) -> None:
    """B67, B68, B17: the fingerprint survives the completion, and the ledger is the only memory."""
    lab = make(tmp_path)
    warm = lab.guard(PLAIN)
    warm.done()
    assert lab.guard(PLAIN, ledger=lab.open()).done().replayed
    other = {"customer": "c2", "amount": 5}
    lab.guard(PLAIN, ledger=lab.open()).done(other)
    assert warm.done(other).replayed
    assert len(lab.service.requests) == 2
