"""Which ledger an address opens, and what is said of one that names none."""

import stat
from pathlib import Path

import pytest

from ledger_suite import at, began, new
from retry_guard_ledgers import (
    LedgerError,
    LedgerURLError,
    MemoryLedger,
    NoLedgerError,
    OpenedLedger,
    SQLiteLedger,
    ledger_url,
    open_ledger,
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's own file."""
    monkeypatch.delenv("RETRY_GUARD_LEDGER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def path_of(ledger: OpenedLedger) -> Path:
    """The file of a ledger, which is closed."""
    assert isinstance(ledger, SQLiteLedger)
    began(ledger, new())
    ledger.close()
    assert ledger.path.is_file()
    return ledger.path


def test_an_absolute_a_relative_and_a_home_path(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "a b").mkdir()
    opened = {
        f"sqlite:///{tmp_path}/one.db": tmp_path / "one.db",
        "sqlite:///two.db": tmp_path / "two.db",
        "sqlite:///~/three.db": tmp_path / "home" / "three.db",
        "sqlite:///a%20b/fo%3Fur%23.db": tmp_path / "a b" / "fo?ur#.db",
        "sqlite:///100%25.db": tmp_path / "100%.db",
    }
    for url, path in opened.items():
        assert path_of(open_ledger(url)) == path


def test_memory_says_that_it_does_not_last(caplog: pytest.LogCaptureFixture) -> None:
    """B78."""
    ledger = open_ledger("memory://")
    assert isinstance(ledger, MemoryLedger)
    assert ledger.durable is False
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "do not survive this process" in caplog.text
    assert SQLiteLedger("durable.db").durable is True


def test_the_environment_names_it_where_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRY_GUARD_LEDGER", "sqlite:///env.db")
    assert path_of(open_ledger()) == tmp_path / "env.db"
    assert path_of(open_ledger("sqlite:///given.db")) == tmp_path / "given.db"
    assert ledger_url() == "sqlite:///env.db"


def test_the_users_own_file_lies_in_a_folder_that_only_the_user_can_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state" / "agent-retry-guard" / "ledger.db"
    assert ledger_url() == f"sqlite:///{path}"
    assert path_of(open_ledger()) == path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for unset in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", unset)
        assert ledger_url() == f"sqlite:///{tmp_path}/home/.local/state/agent-retry-guard/ledger.db"


def test_the_users_own_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(LedgerError, match=r"cannot be made .* set RETRY_GUARD_LEDGER"):
        open_ledger()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://db/guard", "names no kind of ledger: give one of sqlite:///PATH"),
        ("mysql://db/guard", "memory://"),
        ("guard.db", "names no kind of ledger"),
        ("sqlite:guard.db", "names no kind of ledger"),
        ("SQLITE:///guard.db", "names no kind of ledger"),
        ("", "names no kind of ledger"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://host/guard.db", "names no file"),
        ("sqlite:///guard.db?mode=ro", "no options are known"),
        ("sqlite:///a%00b.db", "names no file"),
        ("sqlite:////", "names no file"),
        ("sqlite:///..", "is no file"),
        ("sqlite:///missing/guard.db", "does not exist"),
        ("memory://name", "nothing may follow"),
    ],
)
def test_what_names_no_ledger_is_refused_in_one_line(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(LedgerError) as refused:
        open_ledger(url)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter2@db/guard",
        "postgresql://user:hun/ter2@x@db/guard?sslmode=require",
        "postgresql://db/guard?user=u&password=hunter2&x=1",
        "sqlite://user:hunter2@host/guard.db",
        "memory://user:hunter2@host",
        "sqlite:///guard.db?passwd=hunter2",
        "redis://:hunter2@db/0",
        "nats://user:hunter2\n@db/0",
    ],
)
def test_no_password_is_ever_shown(url: str) -> None:
    with pytest.raises(LedgerURLError) as refused:
        open_ledger(url)
    for text in (str(refused.value), ledger_url(url)):
        assert "hunter2" not in text
        assert "ter2" not in text
        assert "***" in text
        assert text.isprintable()


def test_a_file_is_made_only_where_it_may_be(tmp_path: Path) -> None:
    for url in (None, "sqlite:///none.db"):
        with pytest.raises(NoLedgerError, match=r"there is no ledger at .* yet"):
            open_ledger(url, make=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerURLError, match="does not exist"):
        open_ledger("sqlite:///missing/none.db", make=False)
    path_of(open_ledger("sqlite:///none.db"))
    ledger = open_ledger("sqlite:///none.db", make=False)
    assert len(ledger.list()) == 1
    ledger.close()


def test_a_path_may_be_text_or_a_path(tmp_path: Path) -> None:
    for path in ("text.db", Path("path.db")):
        ledger = SQLiteLedger(path)
        assert ledger.claim(new(), None, at(100)).state == "open"
        assert ledger.path == tmp_path / path
        ledger.close()
