"""The file of a SQLite ledger: who can read it, and what happens to one that is not as it was."""

import json
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger_suite import at, name_of, new, settled
from retry_guard_ledgers import LedgerError, LedgerURLError, SQLiteLedger
from retry_guard_ledgers._files import make
from retry_guard_ledgers._network import network_file_system
from retry_guard_ledgers._schema import VERSION
from test_ledger_races import lines, work


def modes(folder: Path) -> dict[str, str]:
    """The modes of all files in a folder."""
    return {f.name: oct(stat.S_IMODE(f.lstat().st_mode)) for f in sorted(folder.iterdir())}


def refusal(path: Path) -> str:
    """What a ledger says that cannot be opened; nothing in its folder may have changed."""
    before = {file.name: file.lstat().st_size for file in path.parent.iterdir()}
    with pytest.raises(LedgerError) as refused:
        SQLiteLedger(path)
    assert {file.name: file.lstat().st_size for file in path.parent.iterdir()} == before
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def full(path: Path) -> bytes:
    """A ledger with one record; return the bytes of its file."""
    ledger = SQLiteLedger(path)
    ledger.claim(new(), None, at(100))
    ledger.close()
    return path.read_bytes()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_its_owner_can_read_it_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path, before = tmp_path / "ledger.db", os.umask(umask)
    try:
        ledger = SQLiteLedger(path)
        ledger.claim(new(), None, at(100))
    finally:
        os.umask(before)
    names = ("ledger.db", "ledger.db-shm", "ledger.db-wal")
    assert modes(tmp_path) == dict.fromkeys(names, "0o600")
    ledger.close()


def test_it_is_a_file_of_this_program_with_its_schema(tmp_path: Path) -> None:
    full(tmp_path / "ledger.db")
    db = sqlite3.connect(tmp_path / "ledger.db")
    assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert db.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"RGRD"),)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerURLError, match="does not exist: make it"):
        SQLiteLedger(tmp_path / "missing" / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").mkdir()
    assert "is no file" in refusal(tmp_path / "ledger.db")


def test_an_empty_file_is_not_taken_for_a_new_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    assert "is empty or cut short, so it is no ledger" in refusal(tmp_path / "ledger.db")


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    full(tmp_path / "real.db")
    (tmp_path / "ledger.db").symlink_to(tmp_path / "real.db")
    assert "is a symbolic link" in refusal(tmp_path / "ledger.db")
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nowhere.db")
    assert "is a symbolic link" in refusal(tmp_path / "dangling.db")
    assert not (tmp_path / "nowhere.db").exists()


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    full(path)
    (tmp_path / "ledger.db-wal").symlink_to(tmp_path / "stolen")
    refusal(path)
    assert not (tmp_path / "stolen").exists()


def test_a_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    ledger = SQLiteLedger(tmp_path / "link" / "ledger.db")
    assert ledger.path == tmp_path / "real" / "ledger.db"
    ledger.close()


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("notes " * 1000)
    assert "is no SQLite database" in refusal(tmp_path / "ledger.db")


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "ledger.db")
    db.execute("CREATE TABLE records (seq)")
    db.commit()
    db.close()
    assert "the database of another program" in refusal(tmp_path / "ledger.db")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    full(tmp_path / "ledger.db")
    db = sqlite3.connect(tmp_path / "ledger.db")
    db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    assert f"schema {VERSION + 1}" in refusal(tmp_path / "ledger.db")


@pytest.mark.parametrize("kept", [50, 100, 5_000])
def test_a_truncated_ledger_is_refused_and_never_begun_anew(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(full(path)[:kept])
    with pytest.raises(LedgerError, match=r"is damaged|is empty or cut short") as refused:
        SQLiteLedger(path).claim(new(), None, at(100))
    assert str(path) in str(refused.value)
    assert path.stat().st_size == kept


def test_a_ledger_that_is_damaged_in_the_middle_says_so_and_stops_writes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    whole = full(path)
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    with pytest.raises(LedgerError, match="is damaged: stop, keep the file"):
        SQLiteLedger(path).claim(new(), None, at(100))


def remove(path: Path) -> None:
    """Take the ledger away while it is in use."""
    path.unlink()


def put_another(path: Path) -> None:
    """Put another ledger in its place."""
    other = path.with_name("other.db")
    full(other)
    other.rename(path)


def put_rubbish(path: Path) -> None:
    """Put something else in its place."""
    path.unlink()
    path.write_text("rubbish")


@pytest.mark.parametrize("change", [remove, put_another, put_rubbish])
def test_a_ledger_that_goes_away_in_use_stops_every_verb(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """B109, B119: never an empty new ledger."""
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path)
    record = ledger.claim(new(), None, at(100))
    change(path)
    there = path.read_bytes() if path.exists() else None
    verbs: list[Callable[[], object]] = [
        lambda: ledger.claim(new(b"2"), None, at(100)),
        lambda: ledger.save(settled(record)),
        lambda: ledger.deliver("acme", "x", None),
        lambda: ledger.renew([record], 900.0),
        lambda: ledger.get("acme", "x"),
        ledger.list,
    ]
    for verb in verbs:
        with pytest.raises(LedgerError, match="was removed or replaced while in use"):
            verb()
    assert (path.read_bytes() if path.exists() else None) == there
    ledger.close()


def test_a_ledger_that_was_closed_says_so(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ledger.close()
    with pytest.raises(LedgerError, match="was closed: open it again"):
        ledger.claim(new(), None, at(100))


def test_a_read_only_ledger_is_refused_in_one_line_by_every_write() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "ledger.db")
        full(path)
        path.chmod(0o444)
        folder.chmod(0o555)
        worker = work("read_only", path)
        said = lines(worker.communicate()[0])
        folder.chmod(0o755)
        assert worker.returncode == 0
        assert [attempt for attempt, _ in said] == ["in its folder", "in a folder to write to"]
        for _, text in said:
            assert str(path.name) in str(text)
            assert "cannot be" in str(text)
            assert "\n" not in str(text)


def test_a_full_disk_is_an_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    """A limit of the process stands in for a disk that is full: the write fails in the same way."""
    path = tmp_path / "ledger.db"
    worker = work("fill", path)
    *claimed, last = lines(worker.communicate()[0])
    assert worker.returncode == 0
    assert last[0] == "refused"
    assert "the ledger" in str(last[1])
    ledger = SQLiteLedger(path)
    assert len(ledger.list()) == len(claimed) > 3
    assert all(health.well for health in ledger.health())
    ledger.close()


def test_a_database_that_may_grow_no_more_says_that_it_is_full(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    record = ledger.claim(new(b"1"), None, at(100))
    db = ledger._sessions._session().connection
    db.execute("PRAGMA max_page_count = 1").fetchone()
    with pytest.raises(LedgerError, match="is full: make room on the disk"):
        ledger.claim(new(b"2", arguments=bytes(20_000)), None, at(100))
    assert ledger.list() == [record]
    ledger.close()


def test_a_lock_that_lasts_longer_than_the_patience_is_an_error(tmp_path: Path) -> None:
    """B107: nothing was recorded, so nothing is sent."""
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path, busy=0.1)
    holder = work("lock", path)
    assert holder.stdout
    assert json.loads(holder.stdout.readline()) == ["locked"]
    record = new()
    with pytest.raises(LedgerError, match="is locked by another process for too long"):
        ledger.claim(record, None, at(100))
    assert ledger.list() == [], "reading needs no lock"
    holder.communicate("go\n")
    assert name_of(ledger.claim(record, None, at(100))) == name_of(record)
    ledger.close()


def test_a_lock_that_lasts_six_seconds_is_waited_for(tmp_path: Path) -> None:
    """B107, with the patience that is the default."""
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path)
    holder = work("lock_six_seconds", path)
    assert holder.stdout
    assert json.loads(holder.stdout.readline()) == ["locked"]
    record = new()
    assert ledger.claim(record, None, at(100)) == record
    assert lines(holder.communicate()[0]) == [["released"]]
    ledger.close()


def test_without_shared_memory_it_uses_a_rollback_journal_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """B109. SQLite's own file system `unix-dotfile` has no shared memory, as many networks."""
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path, vfs="unix-dotfile")
    assert "no write-ahead log" in caplog.text
    record = ledger.claim(new(), None, at(100))
    assert ledger.save(settled(record))
    db = ledger._sessions._session().connection
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,), "full, for every commit"
    assert [finding.well for finding in ledger.health() if finding.name == "journal"] == [False]
    ledger.close()
    assert "ledger.db-wal" not in modes(tmp_path)


def test_a_ledger_with_a_log_is_refused_where_there_is_no_shared_memory(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    full(path)
    with pytest.raises(LedgerError, match="cannot be opened: its folder must exist"):
        SQLiteLedger(path, vfs="unix-dotfile")


def mounted(path: Path, kind: str) -> str:
    """What the system says of the mount that holds a path, were it of that kind."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return f"22 1 0:99 / /proc rw - proc proc rw\n36 1 {number} / /home rw shared:1 - {kind} x rw\n"


@pytest.mark.parametrize(
    ("kind", "found"), [("nfs4", "nfs4"), ("cifs", "cifs"), ("ext4", None), ("overlay", None)]
)
def test_a_network_file_system_is_known_by_its_mount(
    tmp_path: Path, kind: str, found: str | None
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(mounted(tmp_path, kind))
    assert network_file_system(tmp_path, mounts) == found
    assert network_file_system(tmp_path, tmp_path / "missing") is None
    mounts.write_text("short\n\n")
    assert network_file_system(tmp_path, mounts) is None


def test_on_a_network_file_system_no_log_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B109: also a ledger that has one gets a rollback journal, before the first record."""
    path = tmp_path / "ledger.db"
    full(path)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(mounted(tmp_path, "nfs4"))
    monkeypatch.setattr("retry_guard_ledgers._network.MOUNTS", mounts)
    for name in ("ledger.db", "new.db"):
        ledger = SQLiteLedger(tmp_path / name)
        assert ledger._sessions.journal == "delete"
        assert f"{name} is on nfs4: no write-ahead log" in caplog.text
        ledger.close()


def test_whoever_makes_the_same_ledger_second_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    before = full(path)
    make(path, None, "wal")
    assert path.read_bytes() == before
    assert modes(tmp_path) == {"ledger.db": "0o600"}


def test_a_ledger_that_was_copied_while_closed_goes_on(tmp_path: Path) -> None:
    full(tmp_path / "ledger.db")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    ledger = SQLiteLedger(tmp_path / "copy.db")
    assert len(ledger.list()) == 1
    ledger.close()


def test_commits_are_durable_exactly_where_it_is_promised(tmp_path: Path) -> None:
    """What SQLite was told before each commit; that it obeys is measured by `make bench`."""
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    db = ledger._sessions._session().connection
    said: list[str] = []

    def level_of(verb: Callable[[], object]) -> tuple[int, int]:
        said.clear()
        db.set_trace_callback(said.append)
        verb()
        db.set_trace_callback(None)
        writes = {text for text in said if text.startswith(("INSERT", "UPDATE"))}
        level: int = db.execute("PRAGMA synchronous").fetchone()[0]
        return level, len(writes)

    record, lost = new(b"1"), new(b"2")
    assert level_of(lambda: ledger.claim(record, None, at(100))) == (2, 1)
    assert level_of(lambda: ledger.claim(lost, None, at(100))) == (2, 1)
    assert level_of(lambda: ledger.save(settled(record))) == (1, 1)
    assert level_of(lambda: ledger.deliver("acme", name_of(record) or "", "turn-1")) == (1, 1)
    assert level_of(lambda: ledger.renew([lost], 101.0)) == (1, 1)
    assert level_of(lambda: ledger.claim(new(b"2", time=200.0), None, at(200)))[0] == 2
    held = ledger.list(state="open")[0]
    assert level_of(lambda: ledger.save(held))[0] == 2
    assert (
        level_of(lambda: ledger.resolve("acme", name_of(held) or "", "happened", now=at(200)))[0]
        == 2
    )
    ledger.close()
    quick = SQLiteLedger(tmp_path / "ledger.db", synchronous="normal")
    db = quick._sessions._session().connection
    assert level_of(lambda: quick.claim(new(b"3"), None, at(100))) == (1, 1)
    quick.close()
