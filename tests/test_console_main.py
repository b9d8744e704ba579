"""The `retry-guard` command as a whole: help, exit codes, and no traceback whatever happens."""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import cast

import pytest

from ledger_suite import new
from retry_guard_console import main
from retry_guard_console._main import COMMANDS, modules
from retry_guard_core import GuardError
from retry_guard_ledgers import SQLiteLedger

# An interrupt is ignored in what a shell starts in the background, and in all that starts there.
INTERRUPTIBLE = """
import signal, sys, retry_guard_console
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(retry_guard_console.main())
"""
RUN = [
    sys.executable,
    "-c",
    INTERRUPTIBLE,
]
LONG = 60.0
"""Seconds after which a test fails rather than wait on."""


def parsers(parser: argparse.ArgumentParser, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command and what it can do."""
    yield path
    for part in parser._actions:
        inner = cast("dict[str, argparse.ArgumentParser]", part.choices or {})
        if isinstance(part, argparse._SubParsersAction):
            for name in inner:
                yield from parsers(inner[name], *path, name)


def every_command() -> list[tuple[str, ...]]:
    """The words of every command, the empty ones first."""
    top = argparse.ArgumentParser()
    commands = top.add_subparsers()
    for command in modules(COMMANDS):
        command.add(commands)
    return list(parsers(top))


@pytest.mark.parametrize("words", every_command())
def test_every_command_has_help_with_an_example(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main([*words, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "example" in out
    assert "retry-guard " + " ".join(words[:1]) in out.partition("example")[2]


def test_every_command_is_met_here() -> None:
    assert {words[:2] for words in every_command()} >= {
        (),
        ("ab",),
        ("ledger",),
        ("ledger", "resolve"),
        ("doctor",),
    }


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == version("agent-retry-guard")


@pytest.mark.parametrize("words", [[], ["nonsense"], ["ledger"], ["ledger", "list", "--nonsense"]])
def test_bad_input_is_exit_2_and_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("retry-guard")
    assert (err.count("\n"), "--help" in err) == (1, True)


@pytest.mark.parametrize("path", ["mcp", "ledger list", "contracts show x", "doctor"])
def test_words_that_nobody_knows_point_to_the_help_of_their_own_command(
    capsys: pytest.CaptureFixture[str], path: str
) -> None:
    assert main([*path.split(), "--nonsense"]) == 2
    prog = f"retry-guard {path.removesuffix(' x')}"
    said = capsys.readouterr().err
    assert said == f"{prog}: unrecognized arguments: --nonsense; see {prog} --help\n"


def test_an_empty_address_of_a_ledger_is_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "list", "--ledger", ""]) == 2
    assert "an empty address names no kind of ledger" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["nonsense", "postgresql://u:hunter2@db/x", "sqlite:///"])
def test_a_ledger_that_cannot_be_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], url: str
) -> None:
    for words in (["ledger", "list"], ["doctor"]):
        assert main([*words, "--ledger", url]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("retry-guard: ")
        assert err.count("\n") == 1
        assert "hunter2" not in err


def test_an_error_of_many_lines_is_said_in_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(url: str | None, *, make: bool) -> None:
        raise GuardError("first\nsecond\n\n third")

    monkeypatch.setattr("retry_guard_console._ledger_found.open_ledger", fail)
    assert main(["ledger", "list"]) == 2
    assert capsys.readouterr().err == "retry-guard: first; second; third\n"


def many(path: Path) -> list[str]:
    """A command that prints more than a pipe holds."""
    ledger = SQLiteLedger(path, synchronous="normal")
    for number in range(100):
        ledger.claim(new(b"%d" % number, scope="s" * 2_000), None, ledger.now())
    ledger.close()
    return [*RUN, "ledger", "list", "--json", "--ledger", f"sqlite:///{path}"]


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    command = subprocess.Popen(many(tmp_path / "ledger.db"), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert len(os.read(reading, 10)) == 10
    os.close(reading)
    _, err = command.communicate(timeout=LONG)
    assert (command.returncode, err) == (141, b"")


def test_an_interrupt_ends_it_quietly_with_130(tmp_path: Path) -> None:
    """It is held up by a reader that does not read, so the interrupt finds it at work."""
    reading, writing = os.pipe()
    command = subprocess.Popen(many(tmp_path / "ledger.db"), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert len(os.read(reading, 10)) == 10
    command.send_signal(signal.SIGINT)
    drain = threading.Thread(
        target=lambda: [None for _ in iter(lambda: os.read(reading, 65536), b"")]
    )
    try:
        _, err = command.communicate(timeout=LONG)
    finally:
        command.kill()
        drain.start()
        drain.join(LONG)
    assert not drain.is_alive()
    assert (command.returncode, err) == (130, b"")
    os.close(reading)


def commands(path: Path) -> list[list[str]]:
    """Each command, such that it has something to say."""
    ledger = SQLiteLedger(path)
    ledger.claim(new(id="3f9c"), None, ledger.now())
    ledger.close()
    url = f"sqlite:///{path}"
    return [
        ["--help"],
        ["--version"],
        ["ledger", "list", "--ledger", url],
        ["ledger", "list", "--json", "--ledger", url],
        ["ledger", "show", "3f9c", "--ledger", url],
        ["doctor", "--ledger", url],
        ["ab", "--seeds", "1", "--faults", "none", "--services", "tickets", "--jobs", "1"],
    ]


def said(words: list[str], stdout: int) -> tuple[int, str]:
    """Run the command with this as its standard output; return its exit code and its errors."""
    ended = subprocess.run(
        [*RUN, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=LONG
    )
    return ended.returncode, ended.stderr


def test_where_nobody_reads_every_command_ends_quietly_with_141(tmp_path: Path) -> None:
    for words in commands(tmp_path / "ledger.db"):
        reading, writing = os.pipe()
        os.close(reading)
        assert said(words, writing) == (141, ""), words
        os.close(writing)


def test_a_full_output_is_one_line_and_exit_1(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    for words in commands(tmp_path / "ledger.db"):
        code, err = said(words, full)
        assert (code, err.count("\n")) == (1, 1), words
        assert err.startswith("retry-guard: ")
        assert "No space left on device: not all was written" in err
    os.close(full)


def test_a_closed_output_is_one_line_and_exit_1_and_nothing_is_done(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    resolve = ["ledger", "resolve", "3f9c", "happened", "--ledger", f"sqlite:///{path}"]
    for words in (*commands(path), resolve):
        ended = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *RUN, *words],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=LONG,
        )
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), words
        assert "standard output is closed, so nothing was done" in ended.stderr
    ledger = SQLiteLedger(path)
    assert [record.state for record in ledger.list()] == ["open"]
    ledger.close()


def test_closed_errors_change_no_exit_code() -> None:
    for end in ("2>&-", "2>/dev/full"):
        ended = subprocess.run(
            ["sh", "-c", f'exec "$@" {end}', "sh", *RUN, "doctor", "--ledger", "nonsense"],
            stdout=subprocess.PIPE,
            check=False,
            timeout=LONG,
        )
        assert (ended.returncode, ended.stdout) == (2, b"")


def test_a_letter_that_the_output_cannot_have_is_written_in_another_way(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ledger.claim(new(scope="Zürich"), None, ledger.now())
    ledger.close()
    ended = subprocess.run(
        [*RUN, "ledger", "list", "--ledger", f"sqlite:///{tmp_path}/ledger.db"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Z\\xfcrich" in ended.stdout
