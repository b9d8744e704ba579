"""Everything that a record can hold comes back as it was, from every ledger."""

import tempfile
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ledger_suite import BACKENDS, at, settled, stored
from retry_guard_core import Record
from retry_guard_ledgers import Action, LedgerError, OpenedLedger, SQLiteLedger

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


@settings(max_examples=200, deadline=None)
@given(record=RECORDS, state=st.sampled_from(["open", "done", "not_executed", "abandoned"]))
def test_every_field_comes_back_as_it_was_claimed_and_as_it_was_saved(
    shared: OpenedLedger, record: Record, state: str
) -> None:
    got = shared.claim(record, None, at(-inf))
    if got != record:
        got = shared.claim(record, got, at(-inf))
    if got == record:
        assert stored(shared, record) == record
        ended = settled(record, state) if state != "open" else record
        assert shared.save(ended)
        assert stored(shared, record) == ended
    else:
        assert got.state == "open", "an earlier example holds the same identity"


@settings(max_examples=200, deadline=None)
@given(claimed=RECORDS, saved=RECORDS)
def test_every_field_that_a_save_may_change_comes_back(
    shared: OpenedLedger, claimed: Record, saved: Record
) -> None:
    """The claimed record names the action; all else is as it was saved."""
    from dataclasses import replace

    from retry_guard_ledgers import about

    action = replace(about(claimed), identity=about(claimed).id.encode())
    claimed = replace(claimed, about=action)
    assert shared.claim(claimed, None, at(-inf)) == claimed
    key = saved.key if saved.generation != claimed.generation else claimed.key
    action = replace(action, effect_id=about(saved).effect_id, call_ids=about(saved).call_ids)
    change = replace(saved, owner=claimed.owner, key=key, about=action)
    assert shared.save(change)
    fixed = replace(change, tool=claimed.tool, turn=claimed.turn, content=claimed.content)
    assert stored(shared, claimed) == fixed


def test_what_sqlite_cannot_keep_is_refused_in_one_line(tmp_path: Path) -> None:
    from ledger_suite import new

    ledger = SQLiteLedger(tmp_path / "ledger.db")
    for record in (new(turn="\ud800"), new(scope="\udfff"), new(generation=2**63)):
        with pytest.raises(LedgerError, match="cannot keep a value") as refused:
            ledger.claim(record, None, at(100))
        assert "\n" not in str(refused.value)
    assert ledger.list() == []
    ledger.close()
