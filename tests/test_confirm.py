"""A second approval for the same action cannot be had: tokens are for actions, not for calls."""

from pathlib import Path
from typing import Any

import pytest

from confirm_school import (
    CREATE,
    LIFETIME,
    OTHER,
    PREVIEW,
    ROOM,
    STATED,
    Offices,
    School,
    TokenRefusedError,
    every_office,
)
from guards import Args
from retry_guard import Contract, Done, NotExecuted, Unresolved


def test_without_a_guard_a_fresh_token_makes_a_second_room() -> None:
    """The bug as it was reported: every check of the server passes."""
    school = School()
    shown: list[Any] = [school.preview(ROOM, {}) for _ in range(2)]
    for each in shown:
        school.create({**ROOM, "confirm_token": each["confirm_token"]}, {})
    assert len(school.rooms) == 2
    with pytest.raises(TokenRefusedError):
        school.create({**ROOM, "confirm_token": shown[0]["confirm_token"]}, {})
    with pytest.raises(TokenRefusedError):
        school.create({**OTHER, "confirm_token": school.mint(ROOM)}, {})
    late = school.mint(ROOM)
    school.clock.sleep(LIFETIME)
    with pytest.raises(TokenRefusedError):
        school.create({**ROOM, "confirm_token": late}, {})


@every_office
def test_the_write_happens_once_however_many_tokens_are_had(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.done(office.token())
    assert not first.replayed
    again = office.done(town.school.mint(ROOM))
    assert (again.value, again.replayed) == ({"id": "room_1"}, True)
    assert office.done(None, turn="t1").replayed if not town.one else True
    assert town.office().done(town.school.mint(ROOM)).value == first.value
    assert len(town.school.requests) == len(town.school.rooms) == 1


@every_office
def test_an_equal_preview_gets_the_same_token_while_it_is_good(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.preview()
    again = office.preview(dict(reversed(ROOM.items())), turn="t2")
    elsewhere = town.office().preview(turn=None)
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert isinstance(elsewhere, Done)
    assert first.value == again.value == elsewhere.value
    assert (first.replayed, again.replayed, elsewhere.replayed) == (False, True, True)
    assert len(town.school.previews) == 1


@every_office
def test_after_it_expired_another_token_is_asked_for(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.token()
    town.clock.sleep(LIFETIME - 1)
    assert office.token() == first
    town.clock.sleep(1)
    second = office.token()
    assert second != first
    assert town.office().token() == second
    assert office.done(second).value == {"id": "room_1"}
    assert office.done(first).replayed
    assert len(town.school.rooms) == 1


@every_office
def test_a_token_without_a_stated_time_is_handed_out_until_it_was_sent(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(confirm={"expires": None}))
    first = office.token()
    town.clock.sleep(10 * LIFETIME)
    assert office.token() == first
    assert isinstance(office.confirm(first), NotExecuted)
    second = office.token()
    assert second != first
    assert not office.done(second).replayed


@every_office
def test_another_action_gets_a_token_of_its_own(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office()
    tokens = {
        office.token(),
        office.token(OTHER),
        office.token({**ROOM, "capacity": 40}),
        office.token(scope="globex"),
    }
    assert len(tokens) == len(town.school.previews) == 4


@every_office
def test_a_preview_of_what_was_done_in_this_turn_gets_the_first_result(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.done(office.token())
    for again in (office.preview(), town.office().preview()):
        assert isinstance(again, Done)
        assert (again.value, again.replayed) == (first.value, True)
        assert again.warning is not None
        assert "no preview" in again.warning
    assert len(town.school.previews) == len(town.school.rooms) == 1


@every_office
def test_in_a_later_turn_it_is_another_action_and_both_steps_warn(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.token()
    office.done(first)
    shown = office.preview(turn="t2")
    assert isinstance(shown, Done)
    assert shown.value["confirm_token"] != first
    assert shown.warning is not None
    assert "second one" in shown.warning
    second = office.done(shown.value["confirm_token"], turn="t2")
    assert second.value == {"id": "room_2"}
    assert second.warning is not None
    assert "second one" in second.warning


@every_office
def test_where_a_repeat_needs_a_person_no_token_is_handed_out(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(repeat="escalate"))
    office.done(office.token())
    stopped = office.preview(turn="t2")
    assert isinstance(stopped, Unresolved)
    assert stopped.reason == "repeat_escalate"
    assert len(town.school.previews) == 1
    town.lab.open().resolve("acme", stopped.action, "again", now=town.clock.now())
    assert office.done(office.token(turn="t2"), turn="t2").value == {"id": "room_2"}


@every_office
@pytest.mark.parametrize("turn", ["t1", None])
def test_where_no_turn_is_known_a_token_that_was_used_up_answers_for_its_action(
    make: Offices, turn: str | None, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token(turn=turn)
    first = office.done(token, turn=turn)
    for wait in (0, 100):
        town.clock.sleep(wait)
        again = town.office().done(token, turn=None)
        assert (again.value, again.replayed) == (first.value, True)
        assert ("earlier turn" in (again.warning or "")) == (turn is not None)
    assert len(town.school.requests) == 1


@every_office
@pytest.mark.parametrize("turn", ["t1", None])
def test_a_token_that_was_used_up_says_nothing_of_what_a_later_turn_wants(
    make: Offices, turn: str | None, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token(turn=turn)
    office.done(token, turn=turn)
    town.clock.sleep(100)
    assert "was last sent or given up" in town.office().refused(token, turn="t2")
    assert office.done(office.token(turn="t2"), turn="t2").value == {"id": "room_2"}
    assert len(town.school.rooms) == 2


@every_office
def test_a_used_token_brings_a_later_turn_the_result_that_nobody_has(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    town.school.fates = ["lost_ack"]
    open_ = office.confirm(token)
    assert isinstance(open_, Unresolved)
    town.lab.open().resolve("acme", open_.action, "happened", now=town.clock.now())
    for number in range(2):
        again = town.office().done(token, turn="t2")
        assert again.replayed
        assert ("earlier turn" in (again.warning or "")) == (number == 0)
    assert len(town.school.rooms) == 1


@every_office
@pytest.mark.parametrize("turns", [("t1", "t2", "t3"), (None, None, None)])
def test_equal_tokens_of_a_server_name_as_many_actions_as_were_previewed(
    make: Offices, turns: tuple[str | None, ...], tmp_path: Path
) -> None:
    town = make(tmp_path)
    town.school.mint = lambda given: f"pay {given['room']}"  # type: ignore[method-assign]
    town.school._made = town.school.kept  # type: ignore[method-assign]
    for number, turn in enumerate(turns, 1):
        office = town.office()
        for room in (ROOM, OTHER):
            token = office.token(room, turn=turn)
            for _ in range(2):
                made = office.done(token, room, turn=turn)
                assert made.value == {"id": f"room_{len(town.school.rooms)}"}
        assert len(town.school.rooms) == 2 * number
        town.clock.sleep(30 * 86400)


@every_office
def test_a_token_that_was_used_up_does_not_come_back_after_a_send_that_did_not_run(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    first = office.token()
    office.done(first)
    second = office.token(turn="t2")
    town.school.fates = ["refused"]
    assert isinstance(office.confirm(second, turn="t2"), NotExecuted)
    assert "was last sent or given up" in office.refused(first, turn="t3")
    assert office.done(second, turn="t3").value == {"id": "room_2"}


@every_office
def test_of_turns_that_take_turns_only_the_one_that_did_it_has_it(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token(turn="t1")
    town.school.fates = ["refused"]
    assert isinstance(office.confirm(token, turn="t1"), NotExecuted)
    made = office.done(token, turn="t2")
    assert office.done(token, turn="t2").value == made.value
    assert "was last sent or given up" in office.refused(token, turn="t1")
    assert len(town.school.requests) == 2


@every_office
def test_a_token_from_before_the_action_was_done_sends_nothing_later(
    make: Offices, tmp_path: Path
) -> None:
    """It is valid and unused, and what its user agreed to has happened."""
    town = make(tmp_path)
    office = town.office(town.contract(confirm={"expires": 10}))
    early = office.token()
    town.clock.sleep(20)
    office.done(office.token())
    assert "before `create_exam_room` was last sent" in office.refused(early, turn="t2")
    assert office.done(office.token(turn="t2"), turn="t2").value == {"id": "room_2"}
    assert len(town.school.rooms) == 2


FIELDS: dict[str, Args] = {
    "room": OTHER,
    "starts": {**ROOM, "starts": "2026-09-02T08:00:00Z"},
    "capacity": {**ROOM, "capacity": 40},
    "note": {**ROOM, "note": "x"},
}


@every_office
@pytest.mark.parametrize("field", FIELDS)
def test_a_token_never_fits_other_arguments(make: Offices, field: str, tmp_path: Path) -> None:
    """Approval of one set of arguments is no approval of another."""
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    assert f"other values in: {field};" in office.refused(token, FIELDS[field])
    office.done(office.token(OTHER), OTHER)
    assert "other values in: room;" in office.refused(token, OTHER)
    assert not office.done(token).replayed
    assert len(town.school.rooms) == 2


@every_office
def test_a_token_never_fits_another_tool_or_scope(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    rule = {"preview": "preview_hall", "token": "confirm_token", "param": "confirm_token"}
    office = town.office(town.contract(resource="rooms"))
    hall: dict[str, Any] = {**STATED, "tool": "create_hall", "resource": "rooms"}
    office.subject.guard.add(Contract(**hall, confirm=rule))
    token = office.token()
    with pytest.raises(Exception, match="other values in: tool;"):
        office.subject.call(
            {**ROOM, "confirm_token": token}, tool="create_hall", send=town.school.create
        )
    assert "no preview that is known here" in office.refused(token, scope="globex")


@every_office
def test_a_token_that_no_preview_gave_is_refused_and_the_line_says_what_to_call(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    ask = f"`{CREATE}` without confirm_token" if town.one else f"`{PREVIEW}`"
    line = office.refused(town.school.mint(ROOM))
    assert line.startswith("arguments.confirm_token: no preview that is known here gave this")
    assert f"Call {ask}, which gives one." in line
    for odd in (5, ["x"], "\ud800"):
        office.refused(odd)  # type: ignore[arg-type]  # what a model may give
    if not town.one:
        assert f"a token is needed here; nothing was sent. Call {ask}" in office.refused(None)
        office.refused("  ")
    assert town.school.requests == []
    assert town.lab.records() == []


@every_office
def test_where_the_contract_accepts_it_a_token_from_outside_goes_out_once(
    make: Offices, tmp_path: Path
) -> None:
    """A page of the application asks for the preview, and not the agent."""
    town = make(tmp_path)
    office = town.office(town.contract(confirm={"outside": "accepted"}))
    assert not office.done(town.school.mint(ROOM)).replayed
    assert office.done(town.school.mint(ROOM)).replayed
    token = office.token(OTHER)
    assert "other values in: room;" in office.refused(token, {**ROOM, "room": "Room 7"})
    if not town.one:
        assert "a token is needed here" in office.refused(None, OTHER)
    assert len(town.school.requests) == 1


PARAPHRASES: list[Args] = [
    {**ROOM, "room": "Room 5a"},
    {**ROOM, "starts": "2026-09-01T10:00:00+02:00"},
    {**ROOM, "capacity": 30},
    {**ROOM, "capacity": None},
    {**ROOM, "room": " room  5A", "capacity": 30, "starts": "2026-09-01T08:00:00.000Z"},
]


@every_office
@pytest.mark.parametrize("given", PARAPHRASES, ids=range(len(PARAPHRASES)))
def test_what_is_spelled_otherwise_is_the_same_action_in_both_steps(
    make: Offices, given: Args, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    assert office.token(given) == token
    assert not office.done(token, given).replayed
    assert town.school.requests == [{**ROOM, "confirm_token": token}]  # as it was shown
    assert office.done(town.school.mint(given), given).replayed
    again = office.preview(given)
    assert isinstance(again, Done)
    assert again.value == {"id": "room_1"}
    assert len(town.school.rooms) == 1


@every_office
def test_equal_calls_that_each_count_have_a_token_each(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(twins="count"))
    tokens = [office.token(ordinal=place) for place in (0, 1)]
    assert len(set(tokens)) == 2
    for place, token in enumerate(tokens):
        assert office.done(token, ordinal=place).value == {"id": f"room_{place + 1}"}
    assert office.done(tokens[0], ordinal=0).replayed
    assert len(town.school.rooms) == 2


@every_office
def test_what_never_counts_goes_out_with_the_write_that_alone_takes_it(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(volatile=("reason",)))
    town.school._made = town.school.kept  # type: ignore[method-assign]
    token = office.token()
    office.done(token, {**ROOM, "room": "room 5a", "reason": "exams"})
    assert town.school.rooms[0] == {**ROOM, "confirm_token": token, "reason": "exams"} | {
        "id": "room_1"
    }
