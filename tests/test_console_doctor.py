"""`retry-guard doctor`: what it finds, what it leaves alone, and its exit codes."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_suite import began, ended, new
from retry_guard_console import main
from retry_guard_ledgers import SQLiteLedger

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command looks by itself."""
    monkeypatch.setenv("RETRY_GUARD_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    return tmp_path / "ledger.db"


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run it; return its exit code and what it said."""

    def run(*words: str) -> tuple[int, str]:
        code = main(["doctor", *words])
        return code, capsys.readouterr().out

    return run


def test_a_healthy_ledger_is_exit_0_and_left_as_it_was(path: Path, say: Say) -> None:
    ledger = SQLiteLedger(path)
    record = ended(ledger, new())
    ledger.close()
    code, out = say()
    assert code == 0
    assert "MEND" not in out
    for text in ("a durable write came through", "no damage found", "version 1", "agree within"):
        assert text in out
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]
    ledger = SQLiteLedger(path)
    assert ledger.list() == [record]
    ledger.close()


def test_a_ledger_that_is_not_there_yet_is_no_fault(path: Path, say: Say) -> None:
    code, out = say()
    assert code == 0
    assert "the first guarded call makes it" in out
    assert not path.exists()


@pytest.mark.parametrize("text", [b"", b"rubbish " * 1000])
def test_a_ledger_that_cannot_be_used_is_something_to_mend(
    path: Path, say: Say, text: bytes
) -> None:
    """B119: the status says that the ledger is unusable."""
    path.write_bytes(text)
    code, out = say()
    assert code == 1
    assert "MEND" in out
    assert path.read_bytes() == text


def test_a_damaged_ledger_is_something_to_mend(path: Path, say: Say) -> None:
    ledger = SQLiteLedger(path)
    for number in range(200):
        began(ledger, new(b"%d" % number))
    ledger.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 5000)
    code, out = say()
    assert code == 1
    assert "whole" in {line.split()[1] for line in out.splitlines() if "MEND" in line}


def test_a_row_that_cannot_be_read_is_something_to_mend(path: Path, say: Say) -> None:
    ledger = SQLiteLedger(path)
    now = ledger.now().latest
    for name in ("1", "2"):
        draft = replace(new(name.encode(), id=name, time=now), lease=now + 1_000)
        began(ledger, draft)
    ledger.close()
    assert "2, all of them can be read" in say()[1]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE records SET sends = 'q' WHERE id = '2'")
    code, out = say()
    assert code == 1
    assert "the record of action '2' in scope 'acme' is damaged (sends)" in out
    mend = {line.split()[1] for line in out.splitlines() if "MEND" in line}
    assert mend == {"records", "unresolved"}


def test_a_ledger_that_others_can_read_is_something_to_mend(path: Path, say: Say) -> None:
    SQLiteLedger(path).close()
    path.chmod(0o644)
    code, out = say()
    assert code == 1
    assert "others can reach ledger.db 0644" in out
    path.chmod(0o600)
    assert say()[0] == 0


def test_what_waits_for_an_answer_is_something_to_mend(path: Path, say: Say) -> None:
    ledger = SQLiteLedger(path)
    now = ledger.now().latest
    began(ledger, replace(new(b"held", time=now), lease=now + 1_000))
    assert say()[0] == 0
    began(ledger, new(b"1", time=1_700_000_000.0))
    began(ledger, new(b"2", time=1_600_000_000.0))
    code, out = say()
    assert code == 1
    assert "2, the oldest sent at 2020-09-13 12:26:40 UTC" in out
    ledger.close()


def test_a_ledger_in_memory_is_something_to_mend(say: Say) -> None:
    code, out = say("--ledger", "memory://")
    assert code == 1
    assert "lost when the process ends" in out


def test_a_write_that_nothing_can_settle_is_named(path: Path, say: Say, tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text(
        "contracts:\n"
        "  - tool: get_charge\n"
        "    effect: read\n"
        "  - tool: set_name\n"
        "    effect: idempotent\n"
        "  - tool: charge\n"
        "    key: {param: idempotency_key}\n"
        "  - tool: send_dm\n"
    )
    code, out = say("--contracts", str(contracts))
    assert code == 1
    assert "4 tools" in out
    assert [line.split()[1] for line in out.splitlines() if "MEND" in line] == ["send_dm"]


def test_contracts_that_cannot_be_read_are_exit_2(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("contracts: [{tool: x, nonsense: 1}, {effect: z}]\n")
    for name in ("missing.yaml", "bad.yaml"):
        assert main(["doctor", "--contracts", str(tmp_path / name)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert name in err
