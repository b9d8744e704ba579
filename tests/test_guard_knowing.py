"""Rules 5 and 7: what a read-back proves, and when."""

from pathlib import Path
from typing import Any

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    LISTED,
    READABLE,
    START,
    Args,
    Extra,
    Fate,
    LabMaker,
    changed,
    every_guard,
)
from retry_guard import ArgumentError, Contract, LedgerError, Policy, UsageError

LONG = Policy(deadline=1000.0)
EMPTY: Args = {"charges": [], "complete": True}
FAILED = {"type": "text", "text": "BackendError 500"}
IN_TEXT = {"type": "text", "text": '{"charges": [], "complete": true, "error": "BackendError"}'}
TOLD_EMPTY: list[Args] = [
    {**EMPTY, "message": "BackendError 500"},
    {"content": [IN_TEXT]},
    {"content": [FAILED], "structuredContent": EMPTY},
]
"""A whole and empty list, and a word that it is none."""


def listed(**changes: object) -> Contract:
    """`READABLE` with another read-back; `bound`: its in-flight bound."""
    bound = changes.pop("bound", 20.0)
    read = LISTED.model_copy(update=changes)
    return Contract(tool="charge", read_back=read, in_flight_bound=bound)


@every_guard
def test_what_a_read_shows_to_be_ours_is_adopted_at_once(make: LabMaker, tmp_path: Path) -> None:
    """B16, B40, B30, B137: in the tool's own result shape, and nothing is sent again."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    outcome = lab.guard(READABLE).done()
    assert (outcome.value, outcome.replayed, outcome.warning) == ({"id": "ch_1"}, False, None)
    assert len(lab.service.requests) == 1
    assert lab.clock.at < START + 5
    assert lab.guard(READABLE).done().replayed


@every_guard
@pytest.mark.parametrize("fate", ["late", "lost"])
def test_an_empty_read_proves_nothing_before_the_bound_and_the_lag(
    make: LabMaker, fate: Fate, tmp_path: Path
) -> None:
    """B128: the write comes 10 s late, an early search shows nothing."""
    lab = make(tmp_path)
    lab.service.meet(fate)
    outcome = lab.guard(READABLE, policy=LONG).done()
    assert len(lab.service.effects) == 1
    assert len(lab.service.requests) == (1 if fate == "late" else 2)
    if fate == "lost":
        assert lab.clock.at >= START + 1 + 20
    assert outcome.value == {"id": "ch_1"}


@every_guard
def test_without_a_bound_absence_is_never_believed(make: LabMaker, tmp_path: Path) -> None:
    """B128: without a stated bound, escalate."""
    lab = make(tmp_path)
    lab.service.meet("lost")
    outcome = lab.guard(listed(bound=None)).unresolved()
    assert outcome.reason in ("too_late", "not_conclusive")
    assert len(lab.service.requests) == 1
    assert lab.service.reads > 2


@every_guard
@pytest.mark.parametrize("lag", [90.0, 0.0, None])
def test_a_lagging_read_path_is_waited_for(
    make: LabMaker, lag: float | None, tmp_path: Path
) -> None:
    """B129: a search that lags by 90 s, and a direct read."""
    lab = make(tmp_path)
    lab.service.lag = lag or 0.0
    lab.service.meet("lost_ack")
    contract = listed(visibility_lag=lag)
    outcome = lab.guard(contract, policy=LONG).done()
    assert outcome.value == {"id": "ch_1"}
    assert (len(lab.service.requests), lab.service.reads) == (1, 1)
    assert lab.clock.at >= START + (lag or 0.0)


@every_guard
def test_what_lies_beyond_the_deadline_is_left_to_a_later_call(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.lag = 90.0
    lab.service.meet("lost_ack")
    guard = lab.guard(listed(visibility_lag=90.0))
    first = guard.unresolved()
    assert first.reason == "unread"
    assert first.not_before == pytest.approx(START + 1 + 90, abs=1)
    assert lab.clock.at < START + 60
    lab.clock.at = first.not_before or 0.0
    assert guard.done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 1


@every_guard
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exclusive": False}, "unclear"),
        ({"complete": "whole"}, "unclear"),
        ({"control": {"id": "ch_0"}}, "unclear"),
        ({"items": "orders"}, "unclear"),
    ],
)
def test_what_another_could_have_made_or_is_not_believed_escalates(
    make: LabMaker, changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """B89, B137."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack" if "exclusive" in changes else "lost")
    assert lab.guard(listed(**changes)).unresolved().reason == reason
    assert len(lab.service.requests) == 1


@every_guard
def test_two_effects_that_could_be_ours_escalate(make: LabMaker, tmp_path: Path) -> None:
    """B137: redelivery, or another's."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")

    def read(tool: str, arguments: Args) -> object:
        (effect,) = lab.service.read(tool, arguments)["charges"]
        return {"charges": [effect, {**effect, "id": "ch_9"}], "complete": True}

    assert lab.guard(READABLE, read=read).unresolved().reason == "unclear"


@every_guard
@pytest.mark.parametrize("learnt", ["from its result", "from a read"])
def test_the_effect_of_another_action_is_not_adopted(
    make: LabMaker, learnt: str, tmp_path: Path
) -> None:
    """Rule 5: what the ledger ties to another action is that one's."""
    lab = make(tmp_path)
    contract = listed(match={"customer": "customer"}, exclusive=True)
    guard = lab.guard(contract, policy=LONG)
    lab.service.meet("lost_ack" if learnt == "from a read" else "ok")
    assert guard.done({**ARGUMENTS, "amount": 6}).value == {"id": "ch_1"}
    lab.service.effects[0]["created"] += 5  # as if it was made after the next send
    lab.clock.sleep(1)
    lab.service.meet("lost")
    assert guard.done().value == {"id": "ch_2"}
    assert [e["amount"] for e in lab.service.effects] == [6, 5]


@every_guard
def test_fresh_sends_after_absence_are_limited_per_action(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", times=9)
    both = Contract(tool="charge", key=KEYED.key, read_back=LISTED, in_flight_bound=20.0)
    policy = Policy(deadline=10_000.0, attempts=0, fresh_sends=2)
    guard = lab.guard(both, policy=policy)
    assert guard.unresolved().reason == "fresh_sends_spent"
    assert guard.unresolved().reason == "fresh_sends_spent"
    assert len(lab.service.requests) == 3
    assert len(set(lab.service.keys)) == 3


@every_guard
def test_a_read_that_fails_is_repeated_and_then_not_believed(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    times = list[float]()

    def read(tool: str, arguments: Args) -> object:
        times.append(lab.clock.at)
        if len(times) < 4:
            raise TimeoutError
        return lab.service.read(tool, arguments)

    assert lab.guard(READABLE, read=read).done().value == {"id": "ch_1"}
    assert len(times) == 4

    def down(tool: str, arguments: Args) -> object:
        raise TimeoutError

    lab.service.meet("lost_ack")
    other = lab.guard(READABLE, read=down).unresolved({"customer": "c2", "amount": 1})
    assert other.reason in ("too_late", "not_conclusive")


@every_guard
def test_a_refusal_of_the_read_is_a_read_that_failed_and_no_refusal_of_the_call(
    make: LabMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After the effect, nothing may say that the call was not sent."""
    for number, error in enumerate((UsageError("use it so"), ArgumentError("no"), LedgerError())):
        folder = tmp_path / str(number)
        folder.mkdir()
        lab = make(folder)
        lab.service.meet("lost_ack")

        def refuses(tool: str, arguments: Args, error: Exception = error) -> object:
            raise error

        assert lab.guard(READABLE, read=refuses).unresolved().reason == "too_late"
        assert len(lab.service.effects) == 1
    assert "the read-back of charge cannot be carried out" in caplog.text


@every_guard
@pytest.mark.parametrize("field", ["unknown", "not_executed"])
@pytest.mark.parametrize("told", TOLD_EMPTY)
def test_a_list_that_proves_nothing_by_the_word_of_its_own_contract_shows_no_absence(
    make: LabMaker, told: Args, field: str, tmp_path: Path
) -> None:
    """It looks like a whole and empty list, and its tool says in it that it failed."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    reader = Contract(tool="list_charges", effect="read", **{field: [{"message": "BackendError"}]})

    def read(tool: str, arguments: Args) -> object:
        lab.service.reads += 1
        return told

    outcome = lab.guard(READABLE, reader, read=read, policy=LONG).unresolved()
    assert outcome.reason == "too_late"
    assert (len(lab.service.requests), len(lab.service.effects)) == (1, 1)
    assert lab.service.reads > 2


@every_guard
def test_what_is_no_exception_stops_a_read_and_the_call(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")

    def stops(tool: str, arguments: Args) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.guard(READABLE, read=stops).call()
    assert lab.guard(READABLE).done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 1


@every_guard
def test_the_key_is_the_marker_by_which_a_read_knows_its_effect(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    read = LISTED.model_copy(
        update={
            "match": {"key": "key"},
            "marker": "key",
            "exclusive": False,
            "args": {"key": "key"},
        }
    )
    contract = Contract(tool="charge", key=KEYED.key, read_back=read)
    asked = list[dict[str, Any]]()

    def look(tool: str, arguments: Args) -> object:
        asked.append(arguments)
        return lab.service.read(tool, arguments)

    lab.service.meet("lost_ack")
    guard = lab.guard(contract, read=look, policy=Policy(attempts=0))
    assert guard.done().value == {"id": "ch_1"}
    assert asked == [{"key": lab.service.keys[0]}]


@every_guard
def test_a_read_back_needs_no_secret(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    slow = listed(visibility_lag=90.0)
    contract = changed(slow, secret=("token",), volatile=("token",))
    lab.service.lag = 90
    lab.service.meet("lost_ack")
    lab.guard(contract).unresolved({**ARGUMENTS, "token": "first"})
    lab.clock.sleep(100)
    assert lab.guard(contract).done({**ARGUMENTS, "token": "second"}).value == {"id": "ch_1"}


@every_guard
def test_the_calendar_moved_makes_the_guard_wait_and_never_send(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost")
    guard = lab.guard(READABLE)
    lab.clock.at += 3600
    guard.unresolved(send=_lost)
    lab.clock.at -= 3600
    assert guard.unresolved().not_before is not None
    assert lab.service.requests == []


def _lost(arguments: Args, extra: Extra) -> None:
    raise TimeoutError


@every_guard
@pytest.mark.parametrize("lag", [30.0, 58.0])
def test_a_last_look_before_the_deadline_finds_what_came_in_time(
    make: LabMaker, lag: float, tmp_path: Path
) -> None:
    """Every re-issue was lost, and the stated lag ends later than the call may last."""
    lab = make(tmp_path)
    lab.service.lag, lab.service.timeout = lag, 10.0
    lab.service.meet("lost_ack", times=9)
    read = LISTED.model_copy(update={"visibility_lag": lag})
    outcome = lab.guard(changed(KEYED, read_back=read)).done()
    assert (outcome.value, lab.service.reads) == ({"id": "ch_1"}, 1)
    assert len(lab.service.requests) > 1
    assert START + 59.9 <= lab.clock.at < START + 60


@every_guard
def test_a_last_look_that_shows_nothing_ends_the_call_as_it_would_have_ended(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.lag = 90.0
    lab.service.meet("lost_ack")
    outcome = lab.guard(listed(visibility_lag=90.0)).unresolved()
    assert (outcome.reason, lab.service.reads) == ("unread", 1)
    assert outcome.not_before == pytest.approx(START + 1 + 90, abs=1)


@every_guard
def test_without_a_bound_the_last_look_is_taken_before_a_person_is_asked(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.late_by = 50.0
    lab.service.meet("late")
    assert lab.guard(listed(bound=None)).done().value == {"id": "ch_1"}
    assert START + 59.9 <= lab.clock.at < START + 60
