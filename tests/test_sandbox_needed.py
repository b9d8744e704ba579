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


def failed(at: float) -> Seen:
    """A read that had no answer for 10 s."""
    return Seen(Request("list_comments", {}), at, at + 10, None)


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
    tickets = tuple(replace(e, tool="create_ticket", arguments=TICKET) for e in effects)
    same = moment(*seen, effects=tickets, now=now)
    return replace(same, tool="create_ticket", arguments=TICKET)


OPEN = sent(0)
RESET = replace(OPEN, ended=0.4)
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
        (moment(OPEN, looked(10), effects=(made(11),), now=20.0), False),
        (moment(OPEN, looked(10), effects=(made(61),), now=20.0), True),
        (moment(OPEN, failed(10), failed(20.5), effects=(made(1),)), False),
        (moment(OPEN, failed(10), failed(51), effects=(made(1),)), True),
        (moment(RESET, effects=(made(1),)), False),
        (moment(RESET), True),
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
        "it came after a look, and a last one would have shown it",
        "it comes too late for any look",
        "looks failed, and another would have shown it",
        "looks failed until it was too late",
        "a connection that broke leaves it open, and a look would show it",
        "a connection that broke, and nothing is there",
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
        (ticket(TICKET_OPEN, searched(40), effects=(made(20),)), False),
        (ticket(TICKET_OPEN, searched(40), effects=(made(31),)), True),
        (ticket(TICKET_OPEN, now=61.0, effects=(made(1),)), True),
        (ticket(TICKET_OPEN), True),
    ],
    ids=[
        "waiting for the lag would have shown it",
        "a look before the lag says nothing",
        "it was not visible at last send and lag, but is before the deadline",
        "it is not visible before the deadline",
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
        (
            moment(sent(0, "k"), looked(10, "mine", "twin"), effects=(made(1), made(2, "twin"))),
            True,
        ),
    ],
    ids=[
        "the key can go out again",
        "it can once more",
        "all attempts are spent",
        "spent, but a look would have shown it",
        "no key was sent",
        "two keys were sent",
        "no pause fits before the deadline",
        "two were seen, and no key undoes one",
    ],
)
def test_with_a_key(case: Moment, expected: bool) -> None:
    assert needed(KEYED, Policy(), case) == expected


def test_a_repeat_that_does_no_harm_is_as_good_as_a_key() -> None:
    setting = changed(changed(STRONG, read_back=None), effect="idempotent")
    other = replace(sent(11, status=200), request=Request("add_comment", {"ticket": "other"}))
    assert not needed(setting, Policy(), moment(OPEN))
    assert needed(setting, Policy(attempts=0), moment(OPEN))
    assert needed(setting, Policy(), moment(OPEN, now=59.8))
    assert needed(setting, Policy(), moment(OPEN, other))


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
    assert needed(bounded, Policy(deadline=40.0), moment(OPEN))
    assert not needed(bounded, Policy(deadline=40.1), moment(OPEN))


def test_proven_absence_is_of_no_use_once_it_cannot_be_sent_anew() -> None:
    bounded = changed(STRONG, in_flight_bound=1.0)
    sends = [sent(at) for at in (0, 11, 22)]
    assert not needed(bounded, Policy(fresh_sends=2), moment(*sends[:2]))
    assert needed(bounded, Policy(fresh_sends=2), moment(*sends))
    reissued = [sent(at, "k") for at in (0, 11, 22, 33, 44)]
    keyed = changed(KEYED, in_flight_bound=1.0)
    assert not needed(keyed, Policy(attempts=4), moment(*reissued))


def test_what_was_settled_before_says_nothing_of_what_was_sent_since() -> None:
    settled, again = sent(0), sent(30, status=200)
    assert needed(STRONG, Policy(), moment(settled, again))
    assert not needed(STRONG, Policy(), replace(moment(settled, again), since=20.0))


BATCH: Json = {"recipients": ["a@x", "b@x", "c@x"], "subject": "s", "body": "b"}
BULK = variant("native", "mail").contracts["send_bulk"]


def bulk(*shown: Seen, items: tuple[tuple[str, float], ...] = (), now: float = 10.0) -> Moment:
    """A batch that was sent once, without an answer; some of its items happened."""
    first = Seen(Request("send_bulk", BATCH), 0, 10, None)
    effects = [
        replace(made(at, name), tool="send_bulk", arguments={**BATCH, "recipients": [name]})
        for name, at in items
    ]
    seen = (first, *shown)
    moment_ = moment(*seen, effects=tuple(effects), now=now)
    return replace(moment_, tool="send_bulk", arguments=BATCH)


def test_of_a_batch_each_item_is_an_effect_of_its_own() -> None:
    assert BULK.read_back is not None
    everything = (("a@x", 1.0), ("b@x", 1.0), ("c@x", 1.0))
    read = BULK.read_back.tool
    assert not needed(BULK, Policy(), bulk(items=everything))
    assert needed(BULK, Policy(), bulk(items=everything[:2]))
    assert needed(BULK, Policy(), bulk(items=(*everything, ("c@x", 2.0))))
    assert needed(BULK, Policy(), bulk(items=(*everything[:2], ("c@x", 61.0))))
    some = looked(40, "a@x", "b@x", tool=read)
    assert needed(BULK, Policy(), bulk(some, items=everything[:2], now=41.0))
    assert not needed(
        BULK, Policy(), bulk(looked(40, "a@x", "b@x", "c@x", tool=read), items=everything)
    )


def test_a_send_of_some_items_of_a_batch_is_about_it() -> None:
    child = Seen(Request("send_bulk", {**BATCH, "recipients": ["c@x"]}), 20, 30, None)
    whole = bulk(child, items=(("a@x", 1.0), ("b@x", 1.0), ("c@x", 21.0)), now=30.0)
    answered = replace(whole.seen[0], response=Response(200, {}))
    assert needed(BULK, Policy(deadline=25.0), replace(whole, seen=(answered, child)))
    assert not needed(BULK, Policy(), replace(whole, seen=(answered,)))


def test_presence_tells_nothing_where_it_may_be_somebody_elses() -> None:
    assert STRONG.read_back is not None
    read = STRONG.read_back.model_dump(exclude_unset=True)
    shared = changed(STRONG, read_back={**read, "exclusive": False})
    mine = (made(1),)
    assert needed(shared, Policy(), moment(OPEN, looked(10, "mine"), effects=mine))
    assert needed(shared, Policy(), moment(OPEN, effects=mine))
    for told in ({"unique": True}, {"exclusive": True}):
        whose = changed(STRONG, read_back={**read, "exclusive": False, **told})
        assert not needed(whose, Policy(), moment(OPEN, effects=mine))


def test_without_a_read_back_and_a_key_it_is_always_needed() -> None:
    blind = changed(STRONG, read_back=None)
    assert needed(blind, Policy(), moment(OPEN, effects=(made(1),)))


def test_a_key_and_a_lag_are_weighed_together() -> None:
    spent = tuple(replace(s, request=replace(TICKET_OPEN.request, key="k")) for s in FIVE)
    assert not needed(KEYED_LAGGING, Policy(), ticket(*spent, effects=(made(1),)))
    assert needed(KEYED_LAGGING, Policy(), ticket(*spent, effects=(made(31),)))
    assert not needed(KEYED_LAGGING, Policy(), ticket(*spent[:2], effects=(made(1),)))
