"""Which thread has which connection to a SQLite ledger, and what becomes of it."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest

import ledger_workers
from ledger_suite import at, new
from retry_guard_ledgers import LedgerError, SQLiteLedger, _sessions
from retry_guard_ledgers._session import Options, Session
from retry_guard_ledgers._sessions import SPARE

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SQLiteLedger]:
    made = SQLiteLedger(tmp_path / "ledger.db", busy=30.0)
    yield made
    made.close()


def in_a_thread(work: Callable[[*Ts], T], *given: *Ts) -> T:
    """Do it in a thread that then ends."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *given).result()


def session_of(ledger: SQLiteLedger) -> Session:
    return ledger._sessions._session()


def is_open(session: Session) -> bool:
    try:
        session.connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def open_ones(ledger: SQLiteLedger) -> int:
    return sum(is_open(session) for session in list(ledger._sessions._all))


def test_a_thread_that_begins_takes_the_connection_of_one_that_ended(ledger: SQLiteLedger) -> None:
    for number in range(5):
        in_a_thread(ledger.claim, new(b"%d" % number), None, at(100))
    assert open_ones(ledger) == 2  # of the thread that opened the ledger, and of the others
    assert len(ledger.list()) == 5


def test_a_thread_that_lives_keeps_its_connection_to_itself(ledger: SQLiteLedger) -> None:
    mine = session_of(ledger)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(session_of, ledger).result()
        assert in_a_thread(session_of, ledger) not in (mine, theirs)
        assert pool.submit(session_of, ledger).result() is theirs
    assert session_of(ledger) is mine


def test_of_many_threads_at_once_only_some_leave_a_connection(ledger: SQLiteLedger) -> None:
    in_a_thread(ledger.list)
    barrier = threading.Barrier(SPARE + 12, timeout=60.0)

    def claim(number: int) -> Session:
        barrier.wait()
        ledger.claim(new(b"%d" % number), None, at(100))
        barrier.wait()
        return session_of(ledger)

    with ThreadPoolExecutor(SPARE + 12) as pool:
        used = list(pool.map(claim, range(SPARE + 12)))
    assert len(set(used)) == SPARE + 12
    assert len(ledger.list()) == SPARE + 12
    used.clear()
    assert open_ones(ledger) == 1 + SPARE


def broken(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    raise KeyboardInterrupt


def test_a_thread_whose_work_broke_off_leaves_neither_connection_nor_lock(
    ledger: SQLiteLedger,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        in_a_thread(ledger._sessions.run, "full", broken)
    assert open_ones(ledger) == 1
    assert ledger.claim(new(), None, at(100)).state == "open"


def test_work_after_an_interrupt_is_on_the_disk(ledger: SQLiteLedger) -> None:
    """What is written inside a transaction that nobody commits is lost with the process."""
    with pytest.raises(KeyboardInterrupt):
        ledger._sessions.run("full", broken)
    ledger.claim(new(), None, at(100))
    assert not session_of(ledger).connection.in_transaction
    other = SQLiteLedger(ledger.path, busy=0.0)
    assert len(other.list()) == 1
    other.close()


def test_a_ledger_that_was_closed_has_no_connection_open(ledger: SQLiteLedger) -> None:
    mine, left = session_of(ledger), in_a_thread(session_of, ledger)
    in_a_thread(ledger.list)
    with ThreadPoolExecutor(1) as pool:
        kept = pool.submit(session_of, ledger).result()
        pool.submit(ledger.list).result()
        ledger.close()
        assert [is_open(each) for each in (mine, left, kept)] == [False] * 3
        with pytest.raises(LedgerError, match="was closed"):
            pool.submit(ledger.list).result()
    assert open_ones(ledger) == 0  # nor after the thread has ended
    with pytest.raises(LedgerError, match="was closed"):
        in_a_thread(ledger.list)


def test_closing_waits_for_work_on_a_connection_that_was_left(ledger: SQLiteLedger) -> None:
    in_a_thread(ledger.list)
    began, go_on = threading.Event(), threading.Event()

    def slow(db: sqlite3.Connection) -> int:
        began.set()
        assert go_on.wait(60)
        found: int = db.execute("SELECT 7").fetchone()[0]
        return found

    with ThreadPoolExecutor(2) as pool:
        work = pool.submit(ledger._sessions.run, "normal", slow)
        assert began.wait(60)
        closing = pool.submit(ledger.close)
        go_on.set()
        assert work.result() == 7
        closing.result()
    assert open_ones(ledger) == 0


def test_a_thread_that_connects_while_the_ledger_is_closed_leaves_nothing_open(
    ledger: SQLiteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[Session]()

    def connected(path: Path, options: Options) -> Session:
        made.append(Session(path, options))
        ledger.close()
        return made[-1]

    monkeypatch.setattr(_sessions, "Session", connected)
    with pytest.raises(LedgerError, match="was closed"):
        in_a_thread(ledger.claim, new(), None, at(100))
    assert [is_open(each) for each in made] == [False]


def test_a_forked_process_uses_no_connection_that_a_thread_of_its_parent_left(
    tmp_path: Path,
) -> None:
    command = [
        sys.executable,
        ledger_workers.__file__,
        "fork_with_spares",
        str(tmp_path / "ledger.db"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        '["own connection", true, true]',
        '["child ended", 0]',
        '["same connection", true]',
        '["all", ["after", "again", "before", "child"]]',
    ]
