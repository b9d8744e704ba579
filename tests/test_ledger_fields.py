"""Everything that a record can hold comes back as it was, from every ledger."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ledger_suite import BACKENDS, at, new, settled, stored
from retry_guard_core import Record
from retry_guard_ledgers import Action, LedgerError, OpenedLedger, SQLiteLedger, about

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
WHOLE = st.integers(-(2**63), 2**63 - 1)
TIME = st.floats(allow_nan=False)
BYTES = st.binary(max_size=40)


@pytest.fixture(scope="module", params=sorted(BACKENDS))
def shared(request: pytest.FixtureRequest) -> Iterator[OpenedLedger]:
    """One ledger of each kind for all examples."""
    with tempfile.TemporaryDirectory() as folder:
        made = BACKENDS[request.param](Path(folder), None)
        yield made
        made.close()


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """It, or None."""
    return st.none() | strategy


ACTIONS = st.builds(
    Action,
    scope=TEXT,
    id=st.uuids().map(str),
    identity=BYTES,
    resource=TEXT,
    ordinal=WHOLE,
    arguments=BYTES,
    effect_id=maybe(TEXT),
    call_ids=st.lists(TEXT, max_size=4).map(tuple),
    contract=TEXT,
    scheme=WHOLE,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tool": TEXT,
    "turn": maybe(TEXT),
    "content": BYTES,
    "key": maybe(TEXT),
    "generation": WHOLE,
    "fresh": WHOLE,
    "owner": TEXT,
    "claimed": TIME,
    "lease": TIME,
    "sends": st.lists(TIME, max_size=4).map(tuple),
    "tries": WHOLE,
    "ended": maybe(TIME),
    "seen": maybe(TEXT),
    "read_at": maybe(TIME),
    "value": maybe(BYTES),
    "settled_at": TIME,
    "asked_at": maybe(TIME | st.just(inf)),
    "answer": st.sampled_from([None, "did_not_happen", "again"]),
    "about": ACTIONS,
}
RECORDS = st.builds(Record, **FIELDS)


def unique(record: Record) -> Record:
    """The record as one of an action of its own, since examples are tried more than once."""
    identity = about(record).identity + token_bytes(8)
    return replace(record, about=replace(about(record), id=token_hex(8), identity=identity))


@settings(max_examples=200, deadline=None)
@given(drawn=RECORDS, state=st.sampled_from(["open", "done", "not_executed", "abandoned"]))
def test_every_field_comes_back_as_it_was_claimed_and_as_it_was_settled(
    shared: OpenedLedger, drawn: Record, state: str
) -> None:
    record = unique(drawn)
    assert shared.claim(record, None, at(-inf)) == record
    assert stored(shared, record) == record
    ended = settled(record, state)
    assert shared.save(ended)
    assert stored(shared, record) == ended


@settings(max_examples=200, deadline=None)
@given(drawn=RECORDS, saved=RECORDS)
def test_every_field_that_a_save_may_change_comes_back(
    shared: OpenedLedger, drawn: Record, saved: Record
) -> None:
    record = unique(drawn)
    assert shared.claim(record, None, at(-inf)) == record
    theirs = about(saved)
    action = replace(about(record), effect_id=theirs.effect_id, call_ids=theirs.call_ids)
    key = saved.key if saved.generation != record.generation else record.key
    change = replace(saved, owner=record.owner, key=key, about=action)
    change = replace(change, tool=record.tool, turn=record.turn, content=record.content)
    assert shared.save(change)
    assert stored(shared, record) == change


def test_what_sqlite_cannot_keep_is_refused_in_one_line(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    for record in (new(turn="\ud800"), new(scope="\udfff"), new(generation=2**63)):
        with pytest.raises(LedgerError, match="cannot keep a value") as refused:
            ledger.claim(record, None, at(100))
        assert "\n" not in str(refused.value)
    assert ledger.list() == []
    ledger.close()
