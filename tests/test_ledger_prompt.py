"""What a SQLite ledger does without waiting, for an event loop: all of it, or nothing."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_suite import at, new
from retry_guard_core import Record
from retry_guard_ledgers import LedgerError, SQLiteLedger, about
from retry_guard_ledgers._forks import gate
from retry_guard_ledgers._prompt import SQLitePrompt


def prompt_of(ledger: SQLiteLedger) -> SQLitePrompt:
    found = ledger.prompt
    assert found is not None
    return found


def ended(record: Record) -> Record:
    return replace(record, state="done", value=b'"x"', ended=101.0, settled_at=101.0)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of a ledger's file."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.close()


def test_what_ended_is_stored_and_delivered_as_the_ledger_does_it(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    record = ledger.claim(new(), None, at(100))
    prompt, name = prompt_of(ledger), about(record).id
    assert prompt.save(ended(record))
    assert ledger.get("acme", name) == ended(record)
    assert not prompt.save(ended(record)), "it is done already"
    prompt.deliver("acme", name, record.turn)
    assert ledger.get("acme", name) == replace(ended(record), delivered=True)
    prompt.deliver("acme", name, record.turn, back=True)
    assert ledger.get("acme", name) == ended(record)


def test_it_outlives_the_ledger_that_did_it(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    record = ledger.claim(new(), None, at(100))
    assert prompt_of(ledger).save(ended(record))
    other = SQLiteLedger(tmp_path / "ledger.db")
    assert other.get("acme", about(record).id) == ended(record)


def test_one_that_stays_open_must_be_durable_so_it_is_refused(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    record = ledger.claim(new(), None, at(100))
    with pytest.raises(LedgerError, match="must be durable"):
        prompt_of(ledger).save(replace(record, seen="failed"))
    assert ledger.get("acme", about(record).id) == record


def test_for_a_lock_it_does_not_wait_however_long_the_ledger_would(tmp_path: Path) -> None:
    """A wait would end in the lock, which is held until all is over."""
    ledger = SQLiteLedger(tmp_path / "ledger.db", busy=3600.0)
    record = ledger.claim(new(), None, at(100))
    refused = list[str]()

    def attempt() -> None:
        for work in (
            lambda: prompt_of(ledger).save(ended(record)),
            lambda: prompt_of(ledger).deliver("acme", about(record).id, record.turn),
        ):
            with pytest.raises(LedgerError) as caught:
                work()
            refused.append(str(caught.value))

    with locked(tmp_path / "ledger.db"):
        trying = threading.Thread(target=attempt, daemon=True)
        trying.start()
        trying.join(60)
        assert len(refused) == 2
    assert all("locked" in why for why in refused)
    assert ledger.get("acme", about(record).id) == record


def test_nor_does_it_wait_for_a_fork_that_waits_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    record = ledger.claim(new(), None, at(100))
    monkeypatch.setattr(gate, "shut", True)
    with pytest.raises(LedgerError, match="to be forked off"):
        prompt_of(ledger).save(ended(record))
    assert ledger.save(ended(record)), "where it may wait, it does"


def test_it_never_tidies_up_the_log_and_the_ledger_does(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    pages = "PRAGMA wal_autocheckpoint"
    sides = ledger._sessions, prompt_of(ledger)._sessions
    assert [side.run("normal", lambda db: db.execute(pages).fetchone()) for side in sides] == [
        (4000,),
        (0,),
    ]


def test_where_each_commit_waits_for_the_disk_there_is_none(tmp_path: Path) -> None:
    assert SQLiteLedger(tmp_path / "ledger.db", vfs="unix-dotfile").prompt is None


def test_once_the_ledger_is_closed_or_its_file_replaced_it_refuses(tmp_path: Path) -> None:
    ledger, other = (SQLiteLedger(tmp_path / f"{name}.db") for name in ("one", "other"))
    first, second = (side.claim(new(), None, at(100)) for side in (ledger, other))
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        prompt_of(ledger).save(ended(first))
    (tmp_path / "one.db").replace(tmp_path / "other.db")
    with pytest.raises(LedgerError, match="removed or replaced"):
        prompt_of(other).save(ended(second))
