"""Finding, listing and pruning: the other verbs of a ledger."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger_suite import at, began, each_ledger, ended, name_of, named, new, settled, stored
from retry_guard_ledgers import OpenedLedger, SQLiteLedger, about
from retry_guard_ledgers._places import Places

ledger = each_ledger


def test_a_record_is_got_by_its_scope_and_id_only(ledger: OpenedLedger) -> None:
    record = began(ledger, new(id="a", scope="one"))
    assert ledger.get("one", "a") == record
    assert ledger.get("two", "a") is None
    assert ledger.get("one", "b") is None


def test_a_key_finds_the_latest_record_that_used_it(ledger: OpenedLedger) -> None:
    assert ledger.find("acme", key="k") is None
    first = began(ledger, new(b"1", key="k"))
    began(ledger, new(b"2", key="k", scope="other"))
    began(ledger, new(b"3", key=None))
    assert ledger.find("acme", key="k") == first
    second = began(ledger, new(b"4", key="k"))
    assert ledger.find("acme", key="k") == second
    assert ledger.save(replace(first, tries=1))
    assert ledger.find("acme", key="k") == second, "the latest recorded, not the latest saved"
    assert ledger.find("third", key="k") is None


def test_a_key_that_was_given_up_still_finds_its_record(ledger: OpenedLedger) -> None:
    record = began(ledger, new(key="old"))
    now = replace(record, key="new", generation=1)
    assert ledger.save(now)
    assert ledger.find("acme", key="old") == now
    assert ledger.find("acme", key="new") == now
    later = began(ledger, new(b"2", key="old"))
    assert ledger.find("acme", key="old") == later


def test_an_effect_finds_the_latest_record_that_is_tied_to_it(ledger: OpenedLedger) -> None:
    first = began(ledger, new(b"1"))
    assert ledger.find("acme", effect_id="e") is None
    assert ledger.save(named(settled(first), effect_id="e"))
    assert name_of(ledger.find("acme", effect_id="e")) == name_of(first)
    assert ledger.find("other", effect_id="e") is None
    second = began(ledger, new(b"2", effect_id="e"))
    assert ledger.find("acme", effect_id="e") == second
    assert ledger.save(named(second, effect_id=None))
    assert name_of(ledger.find("acme", effect_id="e")) == name_of(first)


@pytest.mark.parametrize("by", [{}, {"key": "k", "effect_id": "e"}])
def test_a_search_is_by_one_thing(ledger: OpenedLedger, by: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="exactly one"):
        ledger.find("acme", **by)


def test_a_write_is_newer_if_it_was_recorded_later_for_the_same_resource(
    ledger: OpenedLedger,
) -> None:
    base = began(ledger, new(b"1", resource="account"))
    assert ledger.newer("acme", base) is False
    began(ledger, new(b"2", resource="other"))
    began(ledger, new(b"3", resource="account", scope="other"))
    assert ledger.newer("acme", base) is False
    later = began(ledger, new(b"4", resource="account", tool="another"))
    assert ledger.newer("acme", base) is True
    assert ledger.newer("acme", later) is False
    assert ledger.save(settled(base, time=900.0))
    assert ledger.newer("acme", later) is False, "recorded earlier, though it ended later"
    assert ledger.newer("acme", new(resource="account")) is False, "not recorded at all"


def test_a_list_is_in_the_order_of_recording_and_can_be_narrowed(ledger: OpenedLedger) -> None:
    one = began(ledger, new(b"1", time=300.0))
    two = ended(ledger, new(b"2", time=100.0))
    three = began(ledger, new(b"3", time=200.0, scope="other"))
    assert ledger.list() == [one, two, three]
    assert ledger.list("acme") == [one, two]
    assert ledger.list(state="open") == [one, three]
    assert ledger.list(state="done") == [two]
    assert ledger.list("acme", "open") == [one]
    assert ledger.list(older_than=200.0) == [two]
    assert ledger.list(older_than=200.1) == [two, three]
    assert ledger.list("other", "open", 200.1) == [three]
    assert ledger.list("nobody") == []
    assert ledger.list("") == []


def test_old_results_are_dropped_and_the_facts_stay(ledger: OpenedLedger) -> None:
    told, waiting, nothing, young, running = (
        ended(ledger, new(b"told")),
        ended(ledger, new(b"waiting")),
        ended(ledger, new(b"nothing"), "not_executed"),
        began(ledger, new(b"young")),
        began(ledger, new(b"running")),
    )
    assert ledger.save(settled(young, time=950.0))
    assert ledger.save(replace(running, value=b"so far"))
    for record in (told, young):
        ledger.deliver("acme", about(record).id, "turn-1")
    before = {name_of(record): record for record in ledger.list()}
    assert ledger.prune(at(1_000.0), keep_result=100.0) == 2
    for record in (told, nothing):
        assert stored(ledger, record) == replace(before[name_of(record)], value=None)
    for record in (waiting, young, running):
        assert stored(ledger, record) == before[name_of(record)]
    assert ledger.prune(at(1_000.0), keep_result=100.0) == 0
    assert name_of(ledger.claim(new(b"told"), None, at(1_000))) == name_of(told)


def test_results_are_kept_for_a_day_where_nothing_else_is_said(ledger: OpenedLedger) -> None:
    record = ended(ledger, new())
    ledger.deliver("acme", about(record).id, "turn-1")
    assert ledger.prune(at(record.settled_at + 86_400.0)) == 0
    assert ledger.prune(at(record.settled_at + 86_400.1)) == 1


def test_a_ledger_has_a_secret_of_its_own(ledger: OpenedLedger) -> None:
    assert len(ledger.secret) == 32
    assert ledger.secret == ledger.secret


def test_closing_twice_does_nothing(ledger: OpenedLedger) -> None:
    began(ledger, new())
    ledger.close()
    ledger.close()


def test_records_that_a_process_never_met_are_found_by_every_verb(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    first = SQLiteLedger(path)
    records = [began(first, new(bytes([place]))) for place in range(4)]
    one, two, three, four = records

    def stranger() -> SQLiteLedger:
        return SQLiteLedger(path)

    assert [stranger().get("acme", about(record).id) for record in records] == records
    assert stranger().get("other", about(one).id) is None
    assert stranger().save(settled(one)) is True
    stranger().deliver("acme", about(one).id, "turn-9")
    assert stored(first, one).delivered is True
    assert stranger().claim(new(bytes([0]), turn="turn-9"), None, at(120)).turn == "turn-9"
    stranger().renew([two], 700.0)
    assert stored(first, two).lease == 700.0
    assert stranger().newer("acme", two) is True
    assert stranger().newer("acme", four) is False
    assert stranger().resolve("acme", about(three).id, "again", now=at(500)).answer == "again"
    assert stranger().save(settled(new())) is False


def test_the_rows_of_the_latest_records_are_known_and_the_oldest_forgotten() -> None:
    places, db = Places(), sqlite3.connect(":memory:")
    db.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, scope, id)")
    for row in range(1, 25_001):
        places.remember("acme", f"{row}", row)
    assert [places.row(db, "acme", name) for name in ("25000", "24001", "1")] == [
        25_000,
        24_001,
        None,
    ]
    db.execute("INSERT INTO records VALUES (7, 'acme', '1')")
    assert places.row(db, "acme", "1") == 7
    assert places.row(db, "other", "1") is None
    db.close()


def test_however_often_an_action_was_done_a_claim_meets_only_the_latest(tmp_path: Path) -> None:
    """What keeps the claim of an action quick that is done ten thousand times."""
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    for number in range(20):
        record = ended(ledger, new(turn=f"{number}"))
        ledger.deliver("acme", about(record).id, f"{number}")
    began(ledger, new(turn="last"))
    db = sqlite3.connect(tmp_path / "ledger.db")
    assert db.execute("SELECT count(*) FROM records WHERE near = 1").fetchone() == (2,)
    db.close()
    ledger.close()


@pytest.mark.parametrize("scope", ["acme", None])
def test_what_is_open_is_told_by_an_index_without_a_look_at_what_ended(
    tmp_path: Path, scope: str | None
) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    db = ledger._sessions._session().connection
    said: list[str] = []
    db.set_trace_callback(said.append)
    assert ledger.list(scope, state="open") == []
    db.set_trace_callback(None)
    asked = [text for text in said if text.startswith("SELECT")]
    plans = [db.execute(f"EXPLAIN QUERY PLAN {text}").fetchall() for text in asked]
    assert ["one_open" in plan[0][3] for plan in plans] == [True]
    ledger.close()


def test_what_was_begun_later_and_is_open_is_found_by_how_many_there_were(
    ledger: OpenedLedger,
) -> None:
    began(ledger, new(b"1"))
    first, none = ledger.begun(None)
    assert none == []
    two = began(ledger, new(b"2", scope="other"))
    ended(ledger, new(b"3"))
    four = began(ledger, new(b"4"))
    last, later = ledger.begun(first)
    assert [name_of(one) for one in later] == [name_of(two), name_of(four)]
    assert last == first + 3
    assert ledger.begun(last) == (last, [])
    assert [name_of(one) for one in ledger.begun(last - 1)[1]] == [name_of(four)]


def test_whose_call_was_refused_for_a_record_is_kept_beside_it(ledger: OpenedLedger) -> None:
    record = began(ledger, new(b"1"))
    began(ledger, new(b"1", scope="other"))
    ledger.meet("acme", about(record).id, b"new name")
    ledger.meet("acme", about(record).id, b"new name")
    ledger.meet("acme", "nothing", b"new name")
    assert ledger.met("other", "charge") == ledger.met("acme", "mail") == []
    assert ledger.met("acme", "charge") == [(b"new name", record)]
    assert ledger.save(settled(record))
    ((name, known),) = ledger.met("acme", "charge")
    assert (name, known.state) == (b"new name", "done")
    other = new(b"new name")
    assert name_of(ledger.claim(other, None, at(100.0))) == name_of(other), "it names no record"
