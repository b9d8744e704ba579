"""A process that is forked off shares no connection with its parent, nor a lock that nobody holds.

SQLite believes of a copy of its process what is true of the original alone, so these are real
forks, real deaths of the parent, and a third process that looks at what was recorded.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fork_workers
from retry_guard_ledgers import SQLiteLedger, about

REFUSED = "the ledger {} was in use as this process was forked off"


def work(name: str, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, fork_workers.__file__, name, str(folder)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(name: str, folder: Path) -> list[Any]:
    """What a program said, which ended well and without a word of complaint."""
    with work(name, folder) as program:
        out, err = program.communicate(timeout=120)
    assert (program.returncode, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def names(folder: Path) -> list[str]:
    """What another process finds recorded."""
    ledger = SQLiteLedger(folder / "ledger.db")
    found = sorted(about(record).identity.decode() for record in ledger.list())
    ledger.close()
    return found


def test_a_fork_in_the_midst_of_anothers_long_work_harms_neither(tmp_path: Path) -> None:
    """The child is refused that file, by whichever object, and may use any other."""
    refused = ["child is refused", REFUSED.format(tmp_path / "ledger.db")]
    assert said("long_work", tmp_path) == [
        *(refused, ["child ended", 0]),
        *(refused, ["child ended", 0]),
        *(["child", True], ["child ended", 0]),
        ["work", 7],
        ["goes on", True],
    ]
    assert names(tmp_path) == ["first", "later"]


def test_a_fork_in_the_midst_of_its_own_work_waits_for_nothing(tmp_path: Path) -> None:
    assert said("own_work", tmp_path) == [
        ["child is refused", REFUSED.format(tmp_path / "ledger.db")],
        ["child ended", 0],
        ["work", 7],
        ["without a wait", True],
        ["goes on", True],
    ]
    assert names(tmp_path) == ["first", "later"]


def test_a_process_that_was_copied_behind_pythons_back_is_refused(tmp_path: Path) -> None:
    assert said("behind_python", tmp_path) == [
        ["child is refused", REFUSED.format(tmp_path / "ledger.db")],
        ["child ended", 0],
        ["goes on", True],
    ]
    assert names(tmp_path) == ["first", "later"]


def test_a_fork_while_the_ledger_is_made_is_told_of_that_file_too(tmp_path: Path) -> None:
    """It is made under another name, and is the same file under its own."""
    assert said("while_made", tmp_path) == [
        ["child is refused", REFUSED.format(tmp_path / "ledger.db")],
        ["child ended", 0],
    ]


def test_processes_of_a_pool_that_forks_record_what_all_see(tmp_path: Path) -> None:
    assert said("pool", tmp_path) == [["all", 13]]
    assert len(names(tmp_path)) == 13


def test_a_child_waits_for_no_lock_that_a_thread_of_its_parent_held(tmp_path: Path) -> None:
    assert said("guard_among_threads", tmp_path) == [
        *([["child", True], ["child ended", 0]] * fork_workers.FORKS),
        ["open", []],
    ]


def test_nor_does_it_with_a_ledger_in_memory(tmp_path: Path) -> None:
    facts = said("memory_among_threads", tmp_path)
    assert facts == [["child", True], ["child ended", 0]] * fork_workers.FORKS


@pytest.mark.parametrize("reader", ["while it runs", "once it ended"])
def test_what_an_event_loop_records_after_its_parent_has_ended_is_there_for_all(
    tmp_path: Path, reader: str
) -> None:
    program = work("async_daemon", tmp_path)
    with program:
        assert program.stdout
        assert program.stdin
        assert json.loads(program.stdout.readline()) == ["recorded"]
        assert program.wait(60) == 0
        if reader == "once it ended":
            program.stdin.close()
            assert program.stdout.read() == ""
        ledger = SQLiteLedger(tmp_path / "ledger.db")
        found = {record.turn: (record.state, record.delivered) for record in ledger.list()}
        ledger.close()
    assert found == dict.fromkeys(("parent", "before", "after"), ("done", True))
