"""`retry-guard ledger`: an answer is held to what the operator saw, and records can be exported."""

import errno
import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger_suite import began, ended, new, settled
from retry_guard_console import _ledger_export, main
from retry_guard_contracts import encode_result
from retry_guard_core import Record
from retry_guard_ledgers import SQLiteLedger

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SQLiteLedger:
    """The ledger that the command finds by itself."""
    monkeypatch.setenv("RETRY_GUARD_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    return SQLiteLedger(tmp_path / "ledger.db")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run the command; return its exit code and what it said."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["ledger", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def mark(say: Say, action: str) -> str:
    """The mark that `show` shows."""
    found: str = json.loads(say("show", action, "--json")[1])["mark"]
    assert found in say("show", action)[1]
    return found


# What the operator saw


def test_what_is_done_meanwhile_is_not_repeated_by_an_answer_to_what_was_unresolved(
    ledger: SQLiteLedger, say: Say
) -> None:
    record = began(ledger, new(id="3f9c"))
    assert "open" in say("list")[1]
    assert ledger.save(settled(record, value=encode_result({"id": "ch_1"})))
    code, out, err = say("resolve", "3f9c", "again")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is done since" in err
    assert "nothing was stored" in err
    assert "retry-guard ledger show 3f9c" in err
    (kept,) = ledger.list()
    assert (kept.state, kept.answer) == ("done", None)


def test_a_repeat_of_what_is_done_is_taken_from_who_has_seen_it(
    ledger: SQLiteLedger, say: Say
) -> None:
    ended(ledger, new(id="3f9c"))
    assert say("resolve", "3f9c", "again", "--mark", mark(say, "3f9c"))[0] == 0
    (kept,) = ledger.list()
    assert (kept.state, kept.answer) == ("done", "again")


@pytest.mark.parametrize("answer", ["happened", "did-not-happen", "again", "abandon"])
def test_an_answer_with_a_mark_counts_for_what_bore_it(
    ledger: SQLiteLedger, say: Say, answer: str
) -> None:
    record = began(ledger, new(id="3f9c"))
    seen = mark(say, "3f9c")
    sent = replace(record, sends=(*record.sends, 300.0))
    assert ledger.save(sent)
    code, out, err = say("resolve", "3f9c", answer, "--mark", seen)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"has changed since it bore the mark {seen}, and is open now" in err
    assert ledger.list() == [sent]
    assert say("resolve", "3f9c", answer, "--mark", mark(say, "3f9c"))[0] == 0


def test_who_holds_an_action_is_no_part_of_its_mark(ledger: SQLiteLedger, say: Say) -> None:
    record = began(ledger, new(id="3f9c"))
    seen = mark(say, "3f9c")
    assert ledger.save(replace(record, lease=record.lease + 1.0))
    assert mark(say, "3f9c") == seen


def test_an_answer_says_what_it_was_given_to(ledger: SQLiteLedger, say: Say) -> None:
    began(ledger, new(id="3f9c", time=1_700_000_000.0))
    _, out, _ = say("resolve", "3f9c", "abandon")
    assert "3f9c (charge, last sent at 2023-11-14 22:13:20 UTC) is abandoned" in out


# Export


@pytest.fixture
def three(ledger: SQLiteLedger) -> SQLiteLedger:
    """A ledger with an old action, one that is done, and one of another account and tool."""
    began(ledger, new(b"1", id="old", time=1_600_000_000.0, key="k-secret"))
    record = began(ledger, new(b"2", id="done", time=1_600_000_000.0))
    given = settled(record, value=encode_result({"id": "ch_1"}))
    assert ledger.save(replace(given, settled_at=1_700_000_000.0))
    began(ledger, new(b"3", id="other", time=1_700_000_000.0, scope="globex", tool="mail"))
    return ledger


def exported(out: str) -> list[str]:
    return [json.loads(line)["id"] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ([], ["old", "done", "other"]),
        (["--state", "open"], ["old", "other"]),
        (["--scope", "globex"], ["other"]),
        (["--tool", "mail"], ["other"]),
        (["--since", "2023-11-14T22:13:20Z"], ["done", "other"]),
        (["--since", "2023-11-14T23:13:20+01:00"], ["done", "other"]),
        (["--since", "2023-11-14T22:13:21"], []),
        (["--since", "1600000000"], ["old", "done", "other"]),
        (["--since", "20231114"], ["done", "other"]),
        (["--since", "0"], ["old", "done", "other"]),
        (["--tool", "charge", "--state", "done", "--since", "2023-11-14"], ["done"]),
    ],
)
def test_an_export_has_a_line_for_each_record_that_was_asked_for(
    three: SQLiteLedger, say: Say, words: list[str], ids: list[str]
) -> None:
    code, out, err = say("export", *words)
    assert (code, err) == (0, "")
    assert exported(out) == ids
    assert len(three.list()) == 3


def test_a_line_has_what_show_shows_and_no_key(three: SQLiteLedger, say: Say) -> None:
    _, out, _ = say("export")
    shown: list[Any] = [json.loads(say("show", name, "--json")[1]) for name in exported(out)]
    assert [json.loads(line) for line in out.splitlines()] == shown
    assert shown[1]["value"] == {"id": "ch_1"}
    assert "k-secret" not in out
    assert three.list()


def test_an_exported_file_is_of_its_owner_alone(
    three: SQLiteLedger, say: Say, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{"id": "of an earlier export, longer than the next"}\n' * 100)
    file.chmod(0o644)
    assert say("export", "--out", str(file)) == (0, "", "")
    assert exported(file.read_text(encoding="utf-8")) == ["old", "done", "other"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert three.list()


def test_an_export_follows_no_link(three: SQLiteLedger, say: Say, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    code, out, err = say("export", "--out", str(tmp_path / "link"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (tmp_path / "kept").read_text() == "kept"
    assert three.list()


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("named", ["by its name", "by another name"])
def test_an_export_writes_over_no_file_of_the_ledger_itself(
    three: SQLiteLedger, say: Say, tmp_path: Path, named: str, end: str
) -> None:
    file = tmp_path / f"ledger.db{end}"
    before = file.read_bytes()
    out_file = file if named == "by its name" else tmp_path / "other.jsonl"
    if out_file != file:
        out_file.hardlink_to(file)
    code, out, err = say("export", "--out", str(out_file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "it is a file of the ledger itself; name another file" in err
    assert len(file.read_bytes()) == len(before)
    assert len(three.list()) == 3


OTHERS = {
    "contracts.yaml": b"contracts:\n- {tool: charge}\n",
    "contracts.json": b'{"contracts": [{"tool": "charge"}]}\n',
    "another.db": b"SQLite format 3\0" + bytes(100),
    "notes.txt": b"what I must not forget\n",
    "half.jsonl": b'{"id": "cut sho',
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_export_writes_over_nothing_but_an_export(
    three: SQLiteLedger, say: Say, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(OTHERS[name])
    code, out, err = say("export", "--out", str(tmp_path / name))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "it holds something else, which would be lost; name another file" in err
    assert (tmp_path / name).read_bytes() == OTHERS[name]
    assert three.list()


def test_an_export_writes_over_no_log_of_another_ledger_even_an_empty_one(
    three: SQLiteLedger, say: Say, tmp_path: Path
) -> None:
    (tmp_path / "another.db").write_bytes(OTHERS["another.db"])
    (tmp_path / "another.db-wal").touch()
    code, _, err = say("export", "--out", str(tmp_path / "another.db-wal"))
    assert (code, "it is a file of a ledger" in err) == (2, True)
    assert (tmp_path / "another.db-wal").read_bytes() == b""
    assert three.list()


def test_an_export_that_breaks_off_leaves_the_earlier_one(
    three: SQLiteLedger, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "records.jsonl"
    assert say("export", "--out", str(file)) == (0, "", "")
    before, files = file.read_bytes(), set(tmp_path.iterdir())

    def broken(record: Record) -> dict[str, Any]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_ledger_export, "facts", broken)
    code, _, err = say("export", "--out", str(file))
    assert (code, err.count("\n")) == (2, 1)
    assert file.read_bytes() == before
    assert set(tmp_path.iterdir()) == files
    assert three.list()


def test_an_export_to_what_is_no_file_leaves_its_permissions(
    three: SQLiteLedger, say: Say, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o644)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert say("export", "--out", str(pipe)) == (0, "", "")
    assert exported(os.read(reader, 1 << 16).decode()) == ["old", "done", "other"]
    os.close(reader)
    assert stat.S_IMODE(pipe.stat().st_mode) == 0o644
    assert three.list()
