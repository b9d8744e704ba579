"""What the user said no to is over for the turn, whatever tokens there are for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from confirm_school import CREATE, OTHER, ROOM, Offices, every_office
from guards import LABS, PLAIN, LabMaker, every_guard
from retry_guard import Contract, Done, Unresolved, UsageError
from retry_guard_core import Record
from retry_guard_ledgers import Ledger


@every_office
def test_a_rejected_action_is_terminal_in_its_turn(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    assert office.reject()
    assert town.office().reject(dict(reversed(ROOM.items())))
    for outcome in (
        office.preview(),
        office.confirm(token),
        town.office().confirm(town.school.mint(ROOM)),
        town.office().confirm(token, {**ROOM, "room": "room 5a"}),
    ):
        assert isinstance(outcome, Unresolved)
        assert outcome.reason == "rejected"
        assert "The user said no to this `create_exam_room`" in outcome.text
        assert "nothing of it was sent" in outcome.text
    assert town.school.requests == []
    assert len(town.school.previews) == 1


@every_office
def test_a_no_is_for_these_arguments_and_this_scope_only(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    assert office.reject()
    assert not office.done(office.token(OTHER), OTHER).replayed
    assert not office.done(office.token(scope="globex"), scope="globex").replayed
    assert len(town.school.rooms) == 2


@every_office
def test_in_a_later_turn_it_begins_anew_with_a_token_of_its_own_and_no_warning(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    assert office.reject()
    assert "last sent or given up" in office.refused(token, turn="t2")
    shown = office.preview(turn="t2")
    assert isinstance(shown, Done)
    assert shown.warning is None
    assert shown.value["confirm_token"] != token
    made = office.done(shown.value["confirm_token"], turn="t2")
    assert made.warning is None
    assert len(town.school.rooms) == 1
    assert isinstance(office.confirm(token), Unresolved)  # still the first turn


@every_office
def test_a_no_that_comes_after_it_was_sent_says_so_and_changes_nothing(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    office.done(token)
    assert not office.reject()
    assert office.done(token).replayed
    open_token = office.token(OTHER)
    town.school.fates = ["lost_ack"]
    assert isinstance(office.confirm(open_token, OTHER), Unresolved)
    before = town.lab.records()
    assert not office.reject(OTHER)
    assert not town.office().reject(OTHER, turn="t2")
    assert town.lab.records() == before


@every_office
def test_a_no_does_not_take_a_result_from_the_turn_that_waits_for_it(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.done(office.token())
    assert office.reject(turn="t2")
    assert isinstance(office.preview(turn="t2"), Unresolved)
    assert office.done(None if not town.one else town.school.mint(ROOM)).value == first.value
    assert len(town.school.rooms) == 1


@every_office
def test_after_proof_that_nothing_ran_there_is_time_for_a_no(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    town.school.fates = ["refused"]
    office.confirm(token)
    assert office.reject()
    stopped = office.confirm(token)
    assert isinstance(stopped, Unresolved)
    assert stopped.reason == "rejected"


@every_office
def test_a_no_counts_where_a_repeat_waits_for_a_persons_word(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(repeat="escalate"))
    office.done(office.token())
    stopped = office.preview(turn="t2")
    assert isinstance(stopped, Unresolved)
    assert stopped.reason == "repeat_escalate"
    assert office.reject(turn="t2")
    for outcome in (office.preview(turn="t2"), office.confirm("x.1.y", turn="t2")):
        assert isinstance(outcome, Unresolved)
        assert outcome.reason == "rejected"


class Overtaken:
    """A ledger in which another call is faster than the first claim."""

    def __init__(self, ledger: Ledger, faster: Callable[[], object]) -> None:
        self.ledger, self.faster = ledger, [faster]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the ledger's
        return getattr(self.ledger, name)

    def claim(self, *given: Any) -> Record:  # noqa: ANN401 - handed on
        for first in self.faster[:1]:
            self.faster.clear()
            first()
        return self.ledger.claim(*given)


@pytest.mark.parametrize("lab", ["sync-memory", "sync-sqlite"])
@pytest.mark.parametrize("fate", ["ok", "lost_ack"])
def test_a_call_that_is_faster_than_a_no_is_left_as_it_is(
    lab: str, fate: Literal["ok", "lost_ack"], tmp_path: Path
) -> None:
    town = Offices(LABS[lab], one=False)(tmp_path)
    faster = town.office()
    token = faster.token()
    town.school.fates = [fate]
    slow = town.office(ledger=Overtaken(town.lab.open(), lambda: faster.confirm(token)))
    assert not slow.reject()
    last = town.lab.records()[-1]
    assert (last.tool, last.state) == (CREATE, "done" if fate == "ok" else "open")


@every_office
def test_what_an_operator_gave_up_is_no_rejection(make: Offices, tmp_path: Path) -> None:
    """It was sent, so its outcome stays open, and a no comes too late."""
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    town.school.fates = ["lost_ack"]
    office.confirm(token)
    town.clock.sleep(1)
    town.lab.resolve("abandon")
    for outcome in (office.preview(), office.confirm(token)):
        assert isinstance(outcome, Unresolved)
        assert outcome.reason == "abandoned"
    assert not office.reject()
    assert "last sent or given up" in office.refused(token, turn="t2")
    shown = office.preview(turn="t2")
    assert isinstance(shown, Done)
    assert shown.warning is not None
    assert "given up before" in shown.warning


@every_guard
def test_any_write_can_be_rejected_and_no_read(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(PLAIN, Contract(tool="list_charges", effect="read"))
    assert guard.reject("charge", {"amount": 1}, turn=None)
    assert guard.unresolved({"amount": 1}, turn=None).reason == "rejected"
    lab.clock.sleep(61)
    assert guard.done({"amount": 1}, turn=None).warning is None
    assert not guard.reject("charge", {"amount": 1}, turn=None)
    with pytest.raises(UsageError, match="nothing to reject"):
        guard.reject("list_charges", {})
    with pytest.raises(UsageError, match="no contract for the tool"):
        guard.reject(CREATE, {})
    assert len(lab.service.requests) == 1
