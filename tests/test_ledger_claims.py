"""Which record a claim returns, and what it stores: every sentence of `Ledger.claim`."""

from dataclasses import replace
from itertools import permutations

import pytest

from ledger_suite import at, began, each_ledger, ended, name_of, named, new, settled, stored
from retry_guard_core import Now, Record
from retry_guard_ledgers import OpenedLedger, about, take_over

ledger = each_ledger


def test_a_first_claim_inserts_the_record_as_it_is(ledger: OpenedLedger) -> None:
    record = new(key="k", turn=None)
    assert ledger.claim(record, None, at(100)) == record
    assert stored(ledger, record) == record


def test_a_second_claim_gets_the_open_record_and_inserts_nothing(ledger: OpenedLedger) -> None:
    first = began(ledger, new())
    for turn in ("turn-1", "turn-2", None):
        assert ledger.claim(new(turn=turn), None, at(101)) == first
    assert ledger.list() == [first]


def test_an_open_record_is_met_from_every_turn_whatever_ended_there(ledger: OpenedLedger) -> None:
    done = ended(ledger, new(turn="turn-1"))
    ledger.deliver("acme", name_of(done) or "", "turn-1")
    newest = began(ledger, new(turn="turn-2"))
    for turn in ("turn-1", "turn-2", "turn-3", None):
        assert name_of(ledger.claim(new(turn=turn), None, at(101))) == name_of(newest)


@pytest.mark.parametrize(
    ("now", "taken"),
    [
        (at(129.9), False),
        (at(130.0), False),
        (at(130.1), True),
        (Now(100.0, 9_999.0), False),
        (Now(130.1, 9_999.0), True),
    ],
)
def test_a_lease_is_out_only_when_the_earliest_present_is_past_it(
    ledger: OpenedLedger, now: Now, taken: bool
) -> None:
    first = began(ledger, new())
    second = new(time=now.latest)
    expected = take_over(first, second) if taken else first
    assert ledger.claim(second, None, now) == expected
    assert stored(ledger, first) == expected


def test_a_record_that_was_taken_over_is_to_be_investigated(ledger: OpenedLedger) -> None:
    first = began(ledger, new(key="k"))
    ledger.save(replace(first, tries=3, seen="absent", read_at=120.0, sends=(100.0, 115.0)))
    second = new(time=200.0, turn="turn-2", content=b"other", arguments=b"other")
    got = ledger.claim(second, None, at(200))
    assert (got.tries, got.seen, got.ended) == (0, None, first.lease)
    assert (got.owner, got.claimed, got.lease) == (second.owner, second.claimed, second.lease)
    assert (got.key, got.content, got.turn, got.sends) == (
        "k",
        b"content",
        "turn-1",
        (100.0, 115.0),
    )
    assert about(got).arguments == about(first).arguments
    assert about(got).call_ids == (*about(first).call_ids, *about(second).call_ids)
    assert stored(ledger, first) == got


def test_an_end_that_is_known_stays_when_a_record_is_taken_over(ledger: OpenedLedger) -> None:
    first = began(ledger, new())
    ledger.save(replace(first, ended=105.0, seen="ignored"))
    got = ledger.claim(new(time=200.0), None, at(200))
    assert (got.ended, got.seen) == (105.0, "ignored")


def test_its_own_owner_gets_an_open_record_back_unchanged(ledger: OpenedLedger) -> None:
    first = began(ledger, new())
    again = replace(new(), owner=first.owner)
    assert ledger.claim(again, None, at(101)) == first


@pytest.mark.parametrize("state", ["done", "not_executed", "abandoned"])
def test_what_ended_is_returned_until_it_is_named_as_known(
    ledger: OpenedLedger, state: str
) -> None:
    record = ended(ledger, new(), state)
    for turn in ("turn-1", "turn-2", None):
        assert name_of(ledger.claim(new(turn=turn), None, at(120))) == name_of(record)
    fresh = new(time=120.0)
    assert ledger.claim(fresh, record, at(120)) == fresh
    assert ledger.list() == [record, fresh]


def test_what_ended_after_the_known_one_is_returned_first(ledger: OpenedLedger) -> None:
    one = ended(ledger, new())
    two = ended(ledger, new())
    assert ledger.claim(new(), one, at(120)) == two
    three = new()
    assert ledger.claim(three, two, at(120)) == three


def test_the_latest_is_the_last_that_ended_not_the_last_that_began(ledger: OpenedLedger) -> None:
    early = ended(ledger, new(turn="a"), "abandoned")
    late = ended(ledger, new(turn="b"))
    ledger.deliver("acme", name_of(late) or "", "b")
    assert name_of(ledger.claim(new(turn="c"), None, at(120))) == name_of(late)
    assert ledger.save(settled(early, time=130.0))
    ledger.deliver("acme", name_of(early) or "", "a")
    assert name_of(ledger.claim(new(turn="c"), None, at(140))) == name_of(early)


def test_what_is_found_to_be_done_is_met_again_however_much_ended_since(
    ledger: OpenedLedger,
) -> None:
    given_up = ended(ledger, new(turn="a"), "abandoned")
    for turn in ("b", "c", "d"):
        told = ended(ledger, new(turn=turn))
        ledger.deliver("acme", name_of(told) or "", turn)
    assert name_of(ledger.claim(new(turn="z"), None, at(120))) == name_of(told)
    assert name_of(ledger.claim(new(turn="a"), None, at(120))) == name_of(given_up)
    assert ledger.save(settled(given_up))
    for later in ("a", "z", None):
        assert name_of(ledger.claim(new(turn=later), None, at(120))) == name_of(given_up)


def test_of_those_that_ended_the_same_turns_latest_comes_first(ledger: OpenedLedger) -> None:
    last: Record | None = None
    names: dict[str | None, str | None] = {}
    for turn in ("a", "b", "a", "c", None, "c"):
        last = ended(ledger, new(turn=turn))
        ledger.deliver("acme", name_of(last) or "", turn)
        last, names[turn] = stored(ledger, last), name_of(last)
    latest = name_of(last)
    for turn, expected in names.items():
        wanted = latest if turn is None else expected
        assert name_of(ledger.claim(new(turn=turn), None, at(120))) == wanted
    assert name_of(ledger.claim(new(turn="never"), None, at(120))) == latest


def test_what_nobody_received_is_met_from_other_turns(ledger: OpenedLedger) -> None:
    lost = ended(ledger, new(turn="a"))
    told = ended(ledger, new(turn="b"))
    ledger.deliver("acme", name_of(told) or "", "b")
    assert name_of(ledger.claim(new(turn="c"), None, at(120))) == name_of(lost)
    assert name_of(ledger.claim(new(turn=None), None, at(120))) == name_of(lost)
    assert name_of(ledger.claim(new(turn="b"), None, at(120))) == name_of(told), "the later one"
    ledger.deliver("acme", name_of(lost) or "", "c")
    assert name_of(ledger.claim(new(turn="d"), None, at(120))) == name_of(told)


def test_only_a_done_one_can_be_received(ledger: OpenedLedger) -> None:
    nothing = ended(ledger, new(turn="a"), "not_executed")
    told = ended(ledger, new(turn="b"))
    for record in (nothing, told):
        ledger.deliver("acme", name_of(record) or "", "z")
    assert stored(ledger, nothing).delivered is False
    assert name_of(ledger.claim(new(turn="c"), None, at(120))) == name_of(told)


def test_an_answer_to_another_turn_counts_as_of_that_turn(ledger: OpenedLedger) -> None:
    first = ended(ledger, new(turn="a"))
    ledger.deliver("acme", name_of(first) or "", "b")
    second = ended(ledger, new(turn="c"))
    ledger.deliver("acme", name_of(second) or "", "c")
    for turn, record in {"a": first, "b": first, "c": second, "d": second}.items():
        got = ledger.claim(new(turn=turn), None, at(120))
        assert name_of(got) == name_of(record)
        assert got.turn == (turn if turn != "d" else "c"), "returned with the turn it answered"
    assert stored(ledger, first).turn == "a", "the turn that began it stays"


def test_a_deliberate_repeat_is_used_up_by_what_it_begins(ledger: OpenedLedger) -> None:
    done = ended(ledger, new())
    again = ledger.resolve("acme", name_of(done) or "", "again", now=at(150))
    assert stored(ledger, done) == again
    repeat = began(ledger, new(time=160.0))
    assert stored(ledger, done).answer is None
    assert stored(ledger, repeat) == repeat


def test_no_claim_crosses_a_scope_an_identity_or_is_led_astray_by_an_equal_id(
    ledger: OpenedLedger,
) -> None:
    base = new(b"i", id="same", scope="one")
    others = [new(b"i", id="same", scope="two"), new(b"j", scope="one"), new(b"j", scope="two")]
    for record in (base, *others):
        assert ledger.claim(record, None, at(100)) == record
    for record in (base, *others):
        assert ledger.save(settled(record))
        ledger.deliver(about(record).scope, about(record).id, "turn-1")
    for record in (base, *others):
        twin = new(about(record).identity, scope=about(record).scope, turn="later")
        assert name_of(ledger.claim(twin, None, at(120))) == name_of(record)
        assert ledger.claim(twin, stored(ledger, record), at(120)) == twin


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_actions_end_decides_whatever_their_clocks_said(
    ledger: OpenedLedger, order: tuple[int, ...]
) -> None:
    """Three given-up actions are found to be done, one after the other, in every order."""
    records = [ended(ledger, new(turn=turn), "abandoned") for turn in "abc"]
    for place in order:
        assert ledger.save(settled(records[place], time=1.0))
        ledger.deliver("acme", name_of(records[place]) or "", None)
        got = ledger.claim(new(turn="z"), None, at(120))
        assert name_of(got) == name_of(records[place])


def test_a_record_without_the_ledgers_about_is_refused(ledger: OpenedLedger) -> None:
    with pytest.raises(TypeError, match="must be an Action, not str"):
        ledger.claim(replace(new(), about="action"), None, at(100))
    with pytest.raises(TypeError, match="bytes or None, not dict"):
        ledger.claim(replace(new(), value={"id": 1}), None, at(100))
    assert ledger.list() == []


def test_named_changes_only_what_it_names() -> None:
    record = new()
    assert about(named(record, scope="x")) == replace(about(record), scope="x")
