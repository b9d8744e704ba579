"""What a save stores and what it refuses; deliveries and leases: `Ledger.save` and its like."""

from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import pytest

from ledger_suite import (
    at,
    began,
    each_ledger,
    ended,
    name_of,
    named,
    new,
    settled,
    stored,
)
from retry_guard_ledgers import LedgerError, OpenedLedger, about, may_save

ledger = each_ledger


def test_its_holder_saves_an_open_record_again_and_again(ledger: OpenedLedger) -> None:
    record = began(ledger, new(key="k"))
    for tries in (1, 2, 3):
        record = replace(
            record, tries=tries, seen="absent", sends=(*record.sends, 100.0 + tries), lease=200.0
        )
        assert ledger.save(record) is True
        assert stored(ledger, record) == record


@pytest.mark.parametrize("state", ["done", "not_executed", "abandoned"])
def test_its_holder_ends_a_record_once(ledger: OpenedLedger, state: str) -> None:
    record = settled(began(ledger, new()), state)
    assert ledger.save(record) is True
    assert stored(ledger, record) == record
    late = replace(record, value=b"other", settled_at=999.0)
    assert ledger.save(replace(late, state="open")) is False
    assert ledger.save(replace(late, state="not_executed")) is False
    assert ledger.save(replace(late, state="abandoned")) is False
    assert stored(ledger, record) == record


@pytest.mark.parametrize("state", ["open", "not_executed", "abandoned"])
def test_whoever_lost_the_lease_saves_nothing_but_done(
    ledger: OpenedLedger, state: Literal["open", "not_executed", "abandoned"]
) -> None:
    first = began(ledger, new())
    second = ledger.claim(new(time=200.0), None, at(200))
    assert about(second).id == about(first).id
    assert ledger.save(replace(first, state=state, tries=9, value=b"lost")) is False
    assert stored(ledger, first) == second


@pytest.mark.parametrize("fate", ["open", "not_executed", "abandoned"])
def test_a_late_done_is_accepted_from_anyone_and_changes_only_that(
    ledger: OpenedLedger, fate: str
) -> None:
    first = began(ledger, new(key="k"))
    second = ledger.claim(new(time=200.0), None, at(200))
    if fate != "open":
        assert ledger.save(settled(second, fate, time=210.0))
    before = stored(ledger, first)
    late = settled(first, time=220.0, value=b"late", seen="ours", tries=7, sends=(1.0, 2.0))
    assert ledger.save(named(late, effect_id="e", call_ids=("x",))) is True
    expected = replace(before, state="done", value=b"late", settled_at=220.0)
    assert stored(ledger, first) == expected


def test_done_is_never_undone_and_never_done_twice(ledger: OpenedLedger) -> None:
    first = began(ledger, new())
    second = ledger.claim(new(time=200.0), None, at(200))
    done = settled(second, time=210.0)
    assert ledger.save(done) is True
    for owner in (first.owner, second.owner):
        for state in ("open", "done", "not_executed", "abandoned"):
            assert ledger.save(replace(done, owner=owner, state=state, value=b"x")) is False
    assert stored(ledger, first) == done


def test_a_save_is_accepted_exactly_where_the_shared_rule_says(ledger: OpenedLedger) -> None:
    states = ("open", "done", "not_executed", "abandoned")
    for number, (before, after) in enumerate((b, a) for b in states for a in states):
        for owner in ("mine", "theirs"):
            record = began(ledger, new(f"{number} {owner}".encode(), owner="mine"))
            if before != "open":
                assert ledger.save(settled(record, before))
            now = stored(ledger, record)
            change = settled(replace(now, owner=owner), after, time=130.0)
            assert ledger.save(change) is may_save(now, change)


def test_a_record_that_was_never_claimed_is_not_saved(ledger: OpenedLedger) -> None:
    assert ledger.save(new()) is False
    assert ledger.save(settled(new())) is False
    began(ledger, new(id="known", scope="one"))
    assert ledger.save(new(id="known", scope="two")) is False
    assert len(ledger.list()) == 1


def test_what_names_an_action_never_changes(ledger: OpenedLedger) -> None:
    record = began(ledger, new())
    other = replace(record, tool="refund", turn="other", content=b"other", tries=1)
    other = named(
        other, identity=b"other", arguments=b"other", resource="other", ordinal=7, contract="x"
    )
    for change in (other, settled(other)):
        assert ledger.save(change) is True
        kept = replace(change, tool=record.tool, turn=record.turn, content=record.content)
        assert stored(ledger, record) == replace(kept, about=record.about)
    assert name_of(ledger.claim(new(turn="z"), None, at(120))) == name_of(record)


@pytest.mark.parametrize("other", [{"tool": "t"}, {"turn": "other"}, {"content": b"other"}])
def test_nor_does_each_of_what_stands_beside_its_name(
    ledger: OpenedLedger, other: dict[str, Any]
) -> None:
    record = began(ledger, new())
    assert ledger.save(replace(record, tries=1, **other))
    assert stored(ledger, record) == replace(record, tries=1)


def test_a_new_key_needs_a_new_generation(ledger: OpenedLedger) -> None:
    record = began(ledger, new(key="one"))
    for key in ("two", None):
        with pytest.raises(LedgerError, match="a new key needs a new generation"):
            ledger.save(replace(record, key=key))
        with pytest.raises(LedgerError, match="a new key needs a new generation"):
            ledger.save(settled(record, "not_executed", key=key))
    assert stored(ledger, record) == record
    again = replace(record, key="two", generation=1)
    assert ledger.save(again) is True
    assert stored(ledger, record) == again
    keyless = replace(again, key=None, generation=2)
    assert ledger.save(keyless) is True
    assert stored(ledger, record) == keyless


def test_what_is_done_is_stored_even_with_a_key_that_cannot_be(ledger: OpenedLedger) -> None:
    record = began(ledger, new(key="one"))
    assert ledger.save(settled(record, key="two")) is True
    got = stored(ledger, record)
    assert (got.state, got.value, got.key) == ("done", b'"v"', "one")


def test_a_delivery_is_noted_whoever_holds_the_record(ledger: OpenedLedger) -> None:
    record = ended(ledger, new())
    assert record.delivered is False
    ledger.deliver("acme", about(record).id, "turn-1")
    ledger.deliver("acme", about(record).id, "turn-1")
    assert stored(ledger, record) == replace(record, delivered=True)


TURNS = ("turn-1", "turn-2", "turn-3", None)


@pytest.mark.parametrize("began_in", ["turn-1", None])
@pytest.mark.parametrize("told", [told for n in range(4) for told in combinations(TURNS, n)])
@pytest.mark.parametrize("back", TURNS)
def test_a_delivery_that_is_taken_back_leaves_what_the_others_alone_would_have_left(
    ledger: OpenedLedger, began_in: str | None, told: tuple[str | None, ...], back: str | None
) -> None:
    """A twin of the record, in another scope, only ever sees the other deliveries."""
    ours, theirs = (ended(ledger, new(scope=scope, turn=began_in)) for scope in ("one", "two"))
    for turn in (*told, back, back):
        ledger.deliver("one", about(ours).id, turn)
    ledger.deliver("one", about(ours).id, back, back=True)
    for turn in told:
        if turn != back:
            ledger.deliver("two", about(theirs).id, turn)
    has_it = [turn for turn in told if turn != back]
    assert stored(ledger, ours) == replace(ours, delivered=bool(has_it))
    assert stored(ledger, theirs).delivered is bool(has_it)
    for record in (ours, theirs):
        other = ended(ledger, new(scope=about(record).scope, turn="between", time=101.0))
        ledger.deliver(about(other).scope, about(other).id, "between")
        for turn in (*TURNS, "later"):
            got = ledger.claim(new(scope=about(record).scope, turn=turn), None, at(120))
            first = not has_it or (turn is not None and turn in (began_in, *has_it))
            assert (name_of(got) == name_of(record)) is first
            assert got.turn == (turn if first and turn in has_it else got.turn)


def test_a_delivery_is_taken_back_though_another_record_came_after_it(
    ledger: OpenedLedger,
) -> None:
    """The next call of any turn then meets it again, and is not sent."""
    lost = ended(ledger, new(turn="a"))
    ledger.deliver("acme", about(lost).id, "a")
    for turn in ("b", "d"):
        later = ended(ledger, new(turn=turn))
        ledger.deliver("acme", about(later).id, turn)
        assert name_of(ledger.claim(new(turn="c"), None, at(120))) == name_of(later)
    ledger.deliver("acme", about(lost).id, "a", back=True)
    assert name_of(ledger.claim(new(turn="c"), None, at(120))) == name_of(lost)


def test_an_answer_of_the_operator_does_not_change_who_has_the_result(
    ledger: OpenedLedger,
) -> None:
    record = ended(ledger, new(turn="a"))
    ledger.deliver("acme", about(record).id, "b")
    ledger.resolve("acme", about(record).id, "again", now=at(500))
    assert stored(ledger, record).delivered is True
    ledger.deliver("acme", about(record).id, "b", back=True)
    assert stored(ledger, record).delivered is False


def test_what_was_never_delivered_cannot_be_taken_back(ledger: OpenedLedger) -> None:
    record, open_one = ended(ledger, new()), began(ledger, new(b"2"))
    ledger.deliver("acme", "nothing", "turn-1", back=True)
    for held in (record, open_one):
        ledger.deliver("elsewhere", about(held).id, "turn-1", back=True)
        ledger.deliver("acme", about(held).id, "turn-1", back=True)
        assert stored(ledger, held) == held


def test_a_delivery_is_of_one_scope_and_one_record(ledger: OpenedLedger) -> None:
    record = ended(ledger, new(id="same", scope="one"))
    other = ended(ledger, new(id="same", scope="two"))
    ledger.deliver("one", "same", None)
    ledger.deliver("one", "nothing", "turn-1")
    assert stored(ledger, record).delivered is True
    assert stored(ledger, other).delivered is False


def test_a_lease_is_moved_for_its_owner_only_and_only_while_open(ledger: OpenedLedger) -> None:
    mine, lost, over = (began(ledger, new(bytes([place]))) for place in range(3))
    taken = ledger.claim(new(bytes([1]), time=200.0), None, at(200))
    done = settled(over)
    assert ledger.save(done)
    elsewhere = named(mine, scope="elsewhere")
    ledger.renew([elsewhere, mine, lost, over, new()], 500.0)
    assert stored(ledger, mine) == replace(mine, lease=500.0)
    assert stored(ledger, lost) == taken
    assert stored(ledger, over) == done
    ledger.renew([], 900.0)
    ledger.renew([mine], 300.0)
    assert stored(ledger, mine).lease == 300.0


def test_a_lease_that_was_moved_is_the_one_that_counts(ledger: OpenedLedger) -> None:
    record = began(ledger, new())
    ledger.renew([record], 1_000.0)
    assert ledger.claim(new(), None, at(999)).owner == record.owner
    second = new(time=1_001.0)
    assert ledger.claim(second, None, at(1_001)).owner == second.owner


def test_a_value_that_is_not_in_its_stored_form_is_refused(ledger: OpenedLedger) -> None:
    record = began(ledger, new())
    with pytest.raises(TypeError, match="bytes or None, not str"):
        ledger.save(settled(record, value="text"))
    assert stored(ledger, record) == record
