"""Threads, processes, forks and kills: what is claimed is claimed once, and stays."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger_suite import at, each_ledger, name_of, new, settled, stored
from retry_guard_ledgers import OpenedLedger, SQLiteLedger, about

ledger = each_ledger


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    """Let a race that there is be lost."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


WORKERS = Path(__file__).with_name("ledger_workers.py")


def work(name: str, path: Path) -> subprocess.Popen[str]:
    """Start a program of `ledger_workers`."""
    return subprocess.Popen(
        [sys.executable, WORKERS, name, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def lines(text: str) -> list[list[object]]:
    """What a program said."""
    return [json.loads(line) for line in text.splitlines()]


def test_of_eight_threads_that_claim_at_once_one_inserts(ledger: OpenedLedger) -> None:
    """B71, B118: the others see the open record."""
    barrier = threading.Barrier(8)
    results: list[tuple[int, str | None, str | None]] = []

    def caller() -> None:
        for number in range(20):
            draft = new(f"race {number}".encode())
            barrier.wait()
            results.append((number, name_of(draft), name_of(ledger.claim(draft, None, at(100)))))

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 160
    for number in range(20):
        mine = [(draft, got) for place, draft, got in results if place == number]
        assert len({got for _, got in mine}) == 1
        assert sum(draft == got for draft, got in mine) == 1
    assert len(ledger.list()) == 20


def test_of_eight_threads_that_take_over_at_once_one_holds_it(ledger: OpenedLedger) -> None:
    first = ledger.claim(new(), None, at(100))
    barrier = threading.Barrier(8)
    holders: list[bool] = []

    def caller() -> None:
        draft = new(time=200.0)
        barrier.wait()
        holders.append(ledger.claim(draft, None, at(200)).owner == draft.owner)

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(holders) == {True: 1, False: 7}
    assert stored(ledger, first).claimed == 200.0


def test_of_four_processes_that_claim_at_once_one_inserts(tmp_path: Path) -> None:
    """B72, B78, B107, B118. The file is new: they also agree on one secret."""
    path = tmp_path / "ledger.db"
    workers = [work("race", path) for _ in range(4)]
    for worker in workers:
        assert worker.stdout
        assert json.loads(worker.stdout.readline()) == ["ready"]
    for worker in workers:
        assert worker.stdin
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [lines(worker.communicate()[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0, 0]
    assert len({str(facts[-1]) for facts in said}) == 1, "one secret"
    for number in range(50):
        claims = [facts[number] for facts in said]
        assert len({str(got) for _, got in claims}) == 1
        assert sum(draft == got for draft, got in claims) == 1
    assert len(SQLiteLedger(path).list()) == 50
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_after_a_fork_both_processes_have_connections_of_their_own(tmp_path: Path) -> None:
    worker = work("fork", tmp_path / "ledger.db")
    said = lines(worker.communicate()[0])
    assert worker.returncode == 0
    assert said == [
        ["own connection", True, True],
        ["inherited is closed", True],
        ["child ended", 0],
        ["saved", True],
        ["same connection", True],
        ["all", ["child", "parent"]],
    ]


def test_what_a_fork_records_once_its_parent_has_ended_is_there_for_all(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    worker = work("fork_and_end", path)
    assert worker.stdout is not None
    assert worker.stdin is not None
    assert json.loads(worker.stdout.readline())[0] == "runs"
    assert worker.wait(60) == 0
    assert json.loads(worker.stdout.readline()) == ["claimed"]
    ledger = SQLiteLedger(path)
    names = sorted(about(record).identity for record in ledger.list())
    ledger.close()
    worker.stdin.close()
    worker.stdout.close()
    assert names == [b"after", b"before", b"parent"]


def test_forks_among_threads_that_use_the_ledger_lose_nothing(tmp_path: Path) -> None:
    worker = work("fork_among_threads", tmp_path / "ledger.db")
    said = lines(worker.communicate()[0])
    assert worker.returncode == 0
    assert said == [["all", True]]


@pytest.mark.parametrize("number", [1, 40, 399])
def test_what_was_said_to_be_claimed_is_there_after_a_kill(tmp_path: Path, number: int) -> None:
    path = tmp_path / "ledger.db"
    worker = work("claim_many", path)
    assert worker.stdout
    said = [json.loads(worker.stdout.readline()) for _ in range(number)]
    os.kill(worker.pid, signal.SIGKILL)
    with worker:  # communicate() would leave out what is buffered
        said += lines(worker.stdout.read())
    assert worker.returncode in (-signal.SIGKILL, 0)
    ledger = SQLiteLedger(path)
    kept = {about(record).id: record for record in ledger.list()}
    for what, name in said:
        record = kept[name]
        assert record.key == "k"
        assert about(record).call_ids
        assert record.state == "done" if what == "settled" else record.state in ("open", "done")
    assert len(kept) <= len({name for _, name in said}) + 1, "at most the one that was under way"
    assert ledger.save(settled(next(iter(kept.values())))) in (True, False)
    ledger.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


def test_each_thread_and_each_ledger_of_a_file_sees_what_another_wrote(tmp_path: Path) -> None:
    """B68: nothing is remembered beside the file."""
    one, two = (SQLiteLedger(tmp_path / "ledger.db") for _ in range(2))
    record = one.claim(new(), None, at(100))
    assert two.claim(new(), None, at(101)) == record
    assert two.save(settled(record))
    assert one.claim(new(), None, at(102)) == settled(record)
    seen: list[str | None] = []
    thread = threading.Thread(
        target=lambda: seen.append(name_of(one.get("acme", about(record).id)))
    )
    thread.start()
    thread.join()
    assert seen == [name_of(record)]
    for ledger in (one, two):
        ledger.close()


def test_a_repeat_after_a_restart_finds_all_that_names_the_action(tmp_path: Path) -> None:
    """B67, B78: no change of state drops the fingerprint."""
    first = SQLiteLedger(tmp_path / "ledger.db")
    record = first.claim(new(content=b"fingerprint", key="k"), None, at(100))
    assert first.save(settled(record))
    first.close()
    second = SQLiteLedger(tmp_path / "ledger.db")
    got = second.claim(new(content=b"fingerprint"), None, at(200))
    assert got == settled(record)
    assert second.secret == first.secret
    second.close()


def test_an_interrupt_at_any_moment_leaves_no_transaction(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    worker = work("interrupt", path)
    said = lines(worker.communicate()[0])
    assert worker.returncode == 0
    assert said == [["interrupted", False]] * 100 + [["still", True]]
    other = SQLiteLedger(path, busy=0.0)
    assert len(other.list()) == 2
    other.close()
