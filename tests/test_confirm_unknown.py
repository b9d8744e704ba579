"""A token that went out may have worked: that is settled before anything else is handed out."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from confirm_school import (
    CREATE,
    KEY,
    LIFETIME,
    PREVIEW,
    READABLE,
    ROOM,
    Offices,
    TokenRefusedError,
    every_office,
)
from guards import LABS, Args, Extra, Flaky, Operator, gives
from retry_guard import Answer, Done, LedgerError, NotExecuted, Unknown, Unresolved, _confirm
from retry_guard._call import Call, Site
from retry_guard._tokens import admit
from retry_guard_contracts import Confirm
from retry_guard_ledgers import about
from retry_guard_outcomes import classify


@every_office
def test_a_lost_answer_is_settled_by_the_key_with_the_token_that_went_out(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(key=KEY))
    token = office.token()
    town.school.fates = ["lost_ack"]
    assert office.done(token).value == {"id": "room_1"}
    assert [r["confirm_token"] for r in town.school.requests] == [token, token]
    assert len({r["key"] for r in town.school.requests}) == 1
    assert "key" not in town.school.previews[0]


def read_and_refused(result: object) -> Done | NotExecuted | Unknown:
    """A transport that tells that the server read a request before it refused it: a 422."""
    if isinstance(result, TokenRefusedError):
        return NotExecuted(result, rejected=True)
    return classify(result)


@every_office
@pytest.mark.parametrize("errors", ["stored", "not_stored"])
def test_a_token_that_is_too_old_for_a_re_issue_proves_nothing_of_the_send_before(
    make: Offices, errors: str, tmp_path: Path
) -> None:
    """The server looks at the token first, so its refusal says nothing of the key."""
    town = make(tmp_path)
    town.school.token_first = True
    stated = town.contract(key={**KEY, "errors": errors})
    office = town.office(stated, classify=read_and_refused)
    token = office.token()
    town.school.fates = ["lost_ack"]
    town.clock.sleep(LIFETIME - 1.2)
    assert isinstance(office.confirm(token), Unresolved)
    assert isinstance(office.confirm(token), Unresolved)
    shown = office.preview(turn="t2")
    assert not isinstance(shown, Done) or shown.value["confirm_token"] == token
    assert len(town.school.rooms) == len(town.school.previews) == 1


@every_office
def test_a_preview_never_carries_the_key_of_the_write(make: Offices, tmp_path: Path) -> None:
    """A server would answer the write with the preview, under the same key."""
    town = make(tmp_path)
    for place in ("key", "header:Idempotency-Key"):
        office = town.office(town.contract(key={**KEY, "param": place}))
        given: Args = {**ROOM, "room": place, **({"key": "mine"} if place == "key" else {})}
        office.preview(given)
        assert "key" not in town.school.previews[-1]
        assert town.school.extras[-1] == {}


@every_office
@pytest.mark.parametrize("later", ["t1", "t2"])
def test_where_a_key_can_settle_it_the_same_token_is_handed_out_and_goes_on(
    make: Offices, later: str, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(key=KEY))
    token = office.token()
    town.school.fates = ["lost_ack", "lost", "lost", "lost", "lost"]
    assert isinstance(office.confirm(token), Unresolved)
    town.clock.sleep(2 * LIFETIME)
    shown = town.office(town.contract(key=KEY)).preview(turn=later)
    assert isinstance(shown, Done)
    assert shown.value["confirm_token"] == token
    assert shown.warning is not None
    assert "not known" in shown.warning
    assert len(town.school.previews) == 1
    settled = town.office(town.contract(key=KEY)).done(token, turn=later)
    assert settled.value == {"id": "room_1"}
    assert len(town.school.rooms) == 1


def empty(tool: str, given: Args) -> Args:
    """A list that shows nothing yet."""
    return {"rooms": []}


@every_office
def test_a_lost_answer_is_settled_by_a_read_before_a_preview_answers(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    stated = town.contract(read_back={**READABLE["read_back"], "complete": None})
    office = town.office(stated, read=empty)
    token = office.token()
    town.school.fates = ["lost_ack"]
    assert isinstance(office.confirm(token), Unresolved)
    seen = town.office(stated).preview(turn="t2")
    assert isinstance(seen, Done)
    assert (seen.value, seen.replayed) == ({"id": "room_1"}, True)
    assert seen.warning is not None
    assert "no preview" in seen.warning
    assert "earlier turn" in seen.warning
    assert len(town.school.requests) == len(town.school.previews) == 1


@every_office
@pytest.mark.parametrize("turn", ["t1", "t2"])
def test_where_nothing_can_settle_it_no_token_is_handed_out_and_none_sends(
    make: Offices, turn: str, tmp_path: Path
) -> None:
    town = make(tmp_path)
    operator = Operator()
    office = town.office(ask=operator)
    token = office.token()
    town.school.fates = ["lost_ack"]
    first = office.confirm(token)
    assert isinstance(first, Unresolved)
    for outcome in (
        office.preview(turn=turn),
        town.office().preview(turn=turn),
        office.confirm(token, turn=turn),
        town.office().confirm(town.school.mint(ROOM), turn=turn),
    ):
        assert isinstance(outcome, Unresolved)
        assert (outcome.action, outcome.tool) == (first.action, CREATE)
        assert outcome.reason == "nothing_can_tell"
    assert len(operator.asked) == 1
    assert len(town.school.requests) == len(town.school.previews) == 1


@every_office
def test_a_preview_puts_an_open_action_to_the_operator(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    operator = Operator(Answer("happened", result={"id": "room_1"}))
    office = town.office()
    token = office.token()
    town.school.fates = ["lost_ack"]
    office.confirm(token)
    seen = town.office(ask=operator).preview(turn="t2")
    assert isinstance(seen, Done)
    assert seen.value == {"id": "room_1"}
    assert office.done(token).replayed
    assert len(town.school.requests) == 1


@every_office
def test_once_it_is_known_that_nothing_ran_a_preview_may_be_had_and_nothing_doubles(
    make: Offices, tmp_path: Path
) -> None:
    """The recorded token is too old by then; its refusal says only that nothing ran."""
    town = make(tmp_path)
    office = town.office(town.contract(**READABLE, confirm={"expires": 1000}))
    token = office.token()
    town.school.fates = ["lost"]
    town.clock.sleep(LIFETIME - 1)
    refused = office.confirm(token)
    assert isinstance(refused, NotExecuted)
    assert len(town.school.requests) == 2
    second = office.token()
    assert second != token
    assert office.done(second).value == {"id": "room_1"}
    assert office.done(token).replayed
    assert len(town.school.rooms) == 1


@every_office
def test_a_preview_sends_nothing_though_the_action_may_be_sent_anew(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    stated = town.contract(**READABLE)
    office = town.office(stated)
    token = office.token()
    town.school.fates = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        office.confirm(token)
    town.clock.sleep(60)
    again = town.office(stated).preview(turn="t2")
    assert isinstance(again, Done)
    assert again.value["confirm_token"] == token
    assert len(town.school.requests) == 1
    assert town.school.rooms == []
    town.clock.sleep(LIFETIME)
    other = town.office(stated).token(turn="t2")
    assert other != token
    refused = office.confirm(other, turn="t2")
    assert isinstance(refused, NotExecuted)
    assert office.done(other, turn="t2").value == {"id": "room_1"}
    assert len(town.school.rooms) == 1


@every_office
def test_a_token_from_before_an_open_action_ended_sends_nothing_later(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    stated = town.contract(**READABLE, confirm={"expires": 10})
    office = town.office(stated)
    first = office.token()
    town.school.fates = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        office.confirm(first)
    town.clock.sleep(60)
    second = office.token()
    assert second != first
    assert office.done(second).value == {"id": "room_1"}
    assert [r["confirm_token"] for r in town.school.requests] == [first, first]
    assert "before `create_exam_room` was last sent" in office.refused(second, turn="t3")
    assert len(town.school.rooms) == 1


@every_office
def test_other_content_gets_no_token_of_an_open_action(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    stated = town.contract(key=KEY)
    office = town.office(stated)
    town.school.fates = ["lost_ack", "lost", "lost", "lost", "lost"]
    first = office.confirm(office.token())
    stopped = office.preview({**ROOM, "capacity": 40})
    assert isinstance(stopped, Unresolved)
    assert isinstance(first, Unresolved)
    assert stopped.action == first.action
    assert "(capacity) were not sent" in stopped.text
    assert len(town.school.previews) == 1


@every_office
def test_after_proof_that_nothing_ran_the_token_still_counts_and_another_can_be_had(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    town.school.fates = ["refused", "refused"]
    assert isinstance(office.confirm(token), NotExecuted)
    assert isinstance(office.confirm(token, turn="t2"), NotExecuted)
    other = office.token()
    assert other != token
    assert office.done(token).value == {"id": "room_1"}
    assert office.done(other).replayed
    assert "before `create_exam_room` was last sent" in office.refused(other, turn="t3")


@every_office
def test_a_preview_that_was_lost_is_simply_asked_for_anew(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    operator = Operator()
    office = town.office(ask=operator)
    town.school.shown = ["lost_ack", KeyboardInterrupt(), "lost"]
    assert isinstance(office.preview(), NotExecuted)
    with pytest.raises(KeyboardInterrupt):
        office.preview()
    assert isinstance(office.preview(), NotExecuted)
    token = office.token()
    assert len(town.school.previews) == 4
    assert operator.asked == []
    assert all(record.tool != CREATE for record in town.lab.records())
    assert not office.done(token).replayed


@every_office
def test_a_result_without_a_token_is_shown_and_asked_for_anew(
    make: Offices, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    town = make(tmp_path)
    office = town.office(town.contract(confirm={"token": "tokens.first"}))
    odd: list[object] = [None, {"first": 5}, {"first": " "}, {"first": "\ud800"}, [], "text"]
    for tokens in odd:
        send = gives({"tokens": tokens})
        shown = office.subject.call(ROOM, tool=CREATE if town.one else PREVIEW, send=send)
        assert isinstance(shown, Done)
        assert not shown.replayed
    assert town.school.previews == []
    assert isinstance(office.preview(), Done)
    assert "its result shows no token at tokens.first" in caplog.text


@every_office
def test_a_preview_that_cannot_be_kept_reaches_its_caller_and_its_token_counts(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()

    def odd(given: Args, extra: Extra) -> object:
        return {"confirm_token": town.school.mint(given), "file": object()}

    shown = office.subject.call(ROOM, tool=CREATE if town.one else PREVIEW, send=odd)
    assert isinstance(shown, Done)
    assert shown.warning is None
    assert not office.done(shown.value["confirm_token"]).replayed


@every_office
def test_while_the_ledger_is_down_there_is_no_preview(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    flaky = Flaky(town.lab.ledger)
    office = town.office(ledger=flaky)
    flaky.down = {"known", "find"}
    for step in (office.preview, office.reject, lambda: office.confirm("x.1.y")):
        with pytest.raises(LedgerError):
            step()
    assert town.school.previews == town.school.requests == []


@every_office
def test_a_token_that_cannot_be_recorded_is_not_handed_out(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    flaky = Flaky(town.lab.ledger)
    office = town.office(ledger=flaky)
    flaky.down = {"save"}
    with pytest.raises(LedgerError, match="its token could not be recorded"):
        office.preview()
    flaky.down = set()
    town.clock.sleep(60)
    assert not office.done(office.token()).replayed


@every_office
def test_an_equal_call_that_is_let_out_between_two_looks_is_the_one_that_counts(
    make: Offices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = make(tmp_path)
    office, other = town.office(), town.office()
    token, let_out, made = office.token(), admit, list[Done | None]()

    def late(call: Call, rule: Confirm, site: Site) -> None:
        if not made:
            made.append(None)  # the other's own look is in time
            with ThreadPoolExecutor(1) as pool:
                made[0] = pool.submit(other.done, token).result()
        let_out(call, rule, site)

    monkeypatch.setattr(_confirm, "admit", late)
    answer = office.done(token)
    assert answer.replayed
    assert [one.value for one in made if one is not None] == [answer.value]
    assert len(town.school.requests) == 1


@every_office
def test_an_open_action_of_an_older_contract_stops_both_steps(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office()
    token = office.token()
    town.school.fates = ["lost_ack"]
    office.confirm(token)
    newer = town.office(town.contract(identity={"room": "exact", "starts": "time"}))
    for outcome in (newer.preview(), newer.confirm(token)):
        assert isinstance(outcome, Unresolved)
        assert outcome.reason == "contract_changed"
    assert not newer.reject()
    assert len(town.school.requests) == 1


@every_office
def test_an_open_preview_of_an_older_contract_stops_nothing(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    town.school.shown = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        town.office().preview()
    assert [record.state for record in town.lab.records()] == ["open"]
    newer = town.office(town.contract(identity={"room": "exact", "starts": "time"}))
    assert not newer.done(newer.token()).replayed


@every_office
def test_an_operator_who_gives_a_preview_up_stops_nothing(make: Offices, tmp_path: Path) -> None:
    town = make(tmp_path)
    town.school.shown = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        town.office().preview()
    town.clock.sleep(60)
    name = about(town.lab.only()).id
    town.lab.open().resolve("acme", name, "abandon", now=town.clock.now())
    office = town.office()
    assert not office.done(office.token()).replayed


@every_office
def test_an_observer_lets_both_steps_pass_and_says_what_would_be_a_repeat(
    make: Offices, tmp_path: Path
) -> None:
    town = make(tmp_path)
    office = town.office(mode="observe")
    tokens = [office.token(), office.token()]
    assert tokens[0] != tokens[1]
    for token in tokens:
        office.done(token)
    noted = [(note.tool, note.would) for note in office.subject.guard.observations]
    assert noted[-2:] == [(CREATE, "send"), (CREATE, "replay")]
    assert len(town.school.rooms) == 2
    assert not office.reject()
    off = town.office(mode="off")
    assert off.token() != off.token()


def test_the_contract_of_the_preview_is_in_sight_of_whoever_asks_for_it(tmp_path: Path) -> None:
    town = Offices(LABS["sync-memory"], one=False)(tmp_path)
    guard = town.office().subject.guard
    assert set(guard.contracts) == {CREATE, "preview_exam_room"}
    assert guard.contracts["preview_exam_room"].effect == "write"
