"""Which escalations were needed: worked by hand, against contracts and not against the guard."""

from dataclasses import replace

import pytest

from retry_guard import Contract, Policy
from retry_guard_sandbox.grading._needed import Moment, needed
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._http import Json, Request, Response
from retry_guard_sandbox.world._variants import variant
from retry_guard_sandbox.world._wire import Seen

TICKET: Json = {"project": "p", "title": "t", "body": "b"}
COMMENT: Json = {"ticket": "TCK-101", "text": "c"}
STRONG = variant("native", "tickets").contracts["add_comment"]
LAGGING = variant("native", "tickets").contracts["create_ticket"]
KEYED = variant("keys_everywhere", "tickets").contracts["add_comment"]
KEYED_LAGGING = variant("keys_everywhere", "tickets").contracts["create_ticket"]


def sent(at: float, key: str | None = None, status: int | None = None, tool: str = "") -> Seen:
    """A send: without a status it times out after 10 s."""
    tool = tool or "add_comment"
    response = None if status is None else Response(status, {})
    arguments = COMMENT if tool == "add_comment" else TICKET
    return Seen(Request(tool, arguments, key), at, at + (10 if status is None else 0), response)


def looked(at: float, *ids: str, tool: str = "list_comments") -> Seen:
    """A read that showed these."""
    return Seen(Request(tool, {}), at, at, Response(200, {"data": [{"id": i} for i in ids]}))


def made(at: float, name: str = "mine") -> Effect:
    """An effect of the action."""
    return Effect(tool="add_comment", arguments=COMMENT, id=name, item={}, at=at, send=1)


def moment(*seen: Seen, effects: tuple[Effect, ...] = (), now: float | None = None) -> Moment:
    """Handed over right after what was seen, in a call that began at 0."""
    return Moment(
        tool="add_comment",
        arguments=COMMENT,
        seen=seen,
        first=0,
        begun=0.0,
        now=max((s.ended for s in seen), default=0.0) if now is None else now,
        made=effects,
    )


def ticket(*seen: Seen, effects: tuple[Effect, ...] = (), now: float | None = None) -> Moment:
    """The same for a ticket."""
    return replace(moment(*seen, effects=effects, now=now), tool="create_ticket", arguments=TICKET)


OPEN = sent(0)
TICKET_OPEN = sent(0, tool="create_ticket")


def searched(at: float, *ids: str) -> Seen:
    """A search that showed these."""
    return looked(at, *ids, tool="search_tickets")


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (moment(OPEN), True),
        (moment(OPEN, effects=(made(1),)), False),
        (moment(OPEN, looked(10, "other")), True),
        (moment(OPEN, looked(10, "mine"), effects=(made(1),)), False),
        (moment(OPEN, looked(10, "mine", "twin"), effects=(made(1), made(2, "twin"))), True),
        (moment(OPEN, looked(10), effects=(made(11),), now=20.0), True),
        (moment(OPEN, effects=(made(1),), now=60.5), True),
        (moment(sent(0, status=200)), False),
        (moment(sent(0, status=422)), False),
        (moment(sent(0, status=500)), True),
    ],
    ids=[
        "nothing would show",
        "one look would have shown it",
        "looked, and it was not there",
        "it was seen",
        "two were seen",
        "looked in time, and it came later",
        "too late to look",
        "it had succeeded",
        "it had been refused",
        "an error of the server leaves it open",
    ],
)
def test_with_a_strong_read(case: Moment, expected: bool) -> None:
    assert needed(STRONG, Policy(), case) == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (ticket(TICKET_OPEN, effects=(made(1),)), False),
        (ticket(TICKET_OPEN, searched(12), effects=(made(1),)), False),
        (ticket(TICKET_OPEN, searched(40), effects=(made(20),)), True),
        (ticket(TICKET_OPEN, now=61.0, effects=(made(1),)), True),
        (ticket(TICKET_OPEN), True),
    ],
    ids=[
        "waiting for the lag would have shown it",
        "a look before the lag says nothing",
        "it was not visible at last send and lag",
        "the lag ends past the deadline",
        "nothing is there",
    ],
)
def test_with_a_read_that_lags(case: Moment, expected: bool) -> None:
    assert needed(LAGGING, Policy(), case) == expected


FIVE = tuple(sent(at, "k") for at in (0, 10.5, 21.5, 33.5, 47.5))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (moment(sent(0, "k")), False),
        (moment(*FIVE[:4]), False),
        (moment(*FIVE), True),
        (moment(*FIVE, effects=(made(1),)), False),
        (moment(sent(0)), True),
        (moment(sent(0, "k"), sent(11, "j")), True),
        (moment(sent(0, "k"), now=59.8), True),
    ],
    ids=[
        "the key can go out again",
        "it can once more",
        "all attempts are spent",
        "spent, but a look would have shown it",
        "no key was sent",
        "two keys were sent",
        "no pause fits before the deadline",
    ],
)
def test_with_a_key(case: Moment, expected: bool) -> None:
    assert needed(KEYED, Policy(), case) == expected


def test_a_later_call_has_its_attempts_anew() -> None:
    spent = moment(*FIVE)
    later = replace(spent, seen=(*FIVE, sent(70, "k")), first=len(FIVE), begun=70.0, now=80.0)
    assert needed(KEYED, Policy(), spent)
    assert not needed(KEYED, Policy(), later)


def test_a_key_that_the_server_forgot_is_of_no_use() -> None:
    case = moment(sent(0, "k"), now=90_000.0)
    assert needed(KEYED, Policy(deadline=100_000.0), case)


def changed(contract: Contract, **fields: object) -> Contract:
    """Return the contract with other fields."""
    return Contract.model_validate({**contract.model_dump(exclude_unset=True), **fields})


def test_a_bound_makes_absence_decisive_where_it_fits() -> None:
    bounded = changed(STRONG, in_flight_bound=30.0)
    assert not needed(bounded, Policy(), moment(OPEN))
    assert needed(bounded, Policy(deadline=35.0), moment(OPEN))


def test_without_a_read_back_and_a_key_it_is_always_needed() -> None:
    blind = changed(STRONG, read_back=None)
    assert needed(blind, Policy(), moment(OPEN, effects=(made(1),)))


def test_a_key_and_a_lag_are_weighed_together() -> None:
    spent = tuple(replace(s, request=replace(TICKET_OPEN.request, key="k")) for s in FIVE)
    assert needed(KEYED_LAGGING, Policy(), ticket(*spent, effects=(made(1),)))
    assert not needed(KEYED_LAGGING, Policy(), ticket(*spent[:2], effects=(made(1),)))
