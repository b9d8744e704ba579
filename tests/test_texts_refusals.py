"""Whatever is given wrong, the command says so in one line that a person understands; exit 2."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ledger_suite import began, new
from retry_guard_console import main
from retry_guard_ledgers import SQLiteLedger
from retry_guard_ledgers._failures import failure

PYTHON = re.compile(
    r"Traceback|Error\b|Errno|Expecting|delimiter|codec|decod|\bint\b|float value|int value"
    r"|\(\d|0x|<class|object at|\bNone\b|__|recursion|Field required|literal for",
)
"""Words of Python's, and of libraries, that tell a person nothing."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of each kind, which the command runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETRY_GUARD_LEDGER", "sqlite:///l.db")
    ledger = SQLiteLedger(tmp_path / "l.db")
    began(ledger, new(id="3f9c"))
    ledger.close()
    (tmp_path / "dir").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text)
    return tmp_path


FILES = {
    "good.yaml": b"contracts: [{tool: post}]\n",
    "broken.yaml": b"contracts: [",
    "bytes.yaml": b"\xff\xfe\x00\x01",
    "two.yaml": b"contracts:\n  - {tool: a, key: 5, in_flight_bound: x}\n",
    "rows.jsonl": b'{"a": 1}\n',
    "half.jsonl": b'{"episode": "x"',
    "bytes.jsonl": b"\xff\xfe",
    "text.db": b"no database, and long enough to hold the head of one " * 10,
}
RESOLVE = "ledger resolve 3f9c happened --result"
WRONG = {
    f"{RESOLVE} {{bad": "it is no JSON from character 2 on",
    f"{RESOLVE} 1|2": "it is no JSON from character 3 on",
    f"{RESOLVE} {'[' * 5000}": "nested too deep",
    f"{RESOLVE} {'9' * 5000}": "a number of 5000 digits is too long",
    f"{RESOLVE} NaN": "NaN is no JSON number",
    "ledger resolve 3f9c again --result 1": "--result goes with happened only",
    "ledger resolve 3f9c happened --mark 00": "has changed since it bore the mark 00",
    "ledger show zzz": "no action begins with 'zzz'",
    "ledger prune --keep x": "--keep: 'x' is no number",
    "ledger list --ledger dir": "names no kind of ledger",
    "ledger list --ledger sqlite:///dir": "is no file",
    "ledger list --ledger sqlite:///text.db": "is no SQLite database",
    "ledger list --ledger sqlite:////no/where.db": "the folder /no does not exist",
    "ledger list --scope \udcff": "is no UTF-8 text",
    "ledger list --observed --ledger nonsense": "names no kind of ledger",
    "ledger export --since soon": "'soon' is no time: give one like",
    "ledger export --since 1e999": "is no time",
    "ledger export --since 2026": "is no time",
    "ledger export --out dir": "--out dir: Is a directory",
    "ledger export --out no/where": "--out no/where: No such file or directory",
    "contracts list --ledger nonsense": "names no kind of ledger",
    "contracts list --ledger memory://x": "nothing may follow memory://",
    "contracts list --contracts dir": "dir: cannot be read: Is a directory",
    "contracts check": "say which contracts file first: see --help",
    "contracts check missing.yaml": "missing.yaml: cannot be read",
    "contracts check broken.yaml": "broken.yaml:1: is not valid YAML",
    "contracts check bytes.yaml": "bytes.yaml: is not UTF-8",
    "contracts check two.yaml": "one per line; two.yaml:2: in_flight_bound: must be",
    "contracts check good.yaml -- /no/server": "cannot be started: No such file or directory; name",
    "contracts trust": "say a name for the server first: see --help",
    "contracts show x": "nothing is known of it",
    "mcp": "say how to start the server",
    "mcp -- |": "the command is empty",
    "mcp --scope \udcff -- cat": "is no UTF-8 text",
    "mcp --answer-within soon -- cat": "--answer-within: 'soon' is no number",
    "mcp --url ftp://x": "--url is no http:// or https:// URL",
    "mcp --contracts two.yaml -- cat": "two.yaml:2: in_flight_bound: must be",
    "ab --seeds many": "--seeds: 'many' is no whole number",
    "ab --attempts-hit 3": "choose from 1, 2, all",
    "ab --from dir": "--from dir: Is a directory",
    "ab --from good.yaml": "--from good.yaml: line 1 is no JSON; give a file that",
    "ab --from half.jsonl": "--from half.jsonl: line 1 is no JSON; give a file that",
    "ab --from rows.jsonl": "line 1 is no row of a report",
    "ab --from bytes.jsonl": "--from bytes.jsonl: it is no UTF-8 text; name another file",
    "ab --replay rows.jsonl": "line 1 is of no transcript: transcript: missing",
    "ab --replay bytes.jsonl": "--replay bytes.jsonl: it is no UTF-8 text; name another file",
    "ab --json dir": "--json dir: Is a directory",
    "ab --model x": "x is no model",
    "bound --json dir": "--json dir: Is a directory",
    "eval": "give module:function",
    "eval --episode-timeout long json:loads": "--episode-timeout: 'long' is no number",
    "sandbox --join nowhere": "no episode is served at nowhere: it is no HOST:PORT",
    "sandbox --join 127.0.0.1:1": "no episode is served at 127.0.0.1:1: Connection refused",
    "doctor --contracts dir": "dir: cannot be read: Is a directory",
    "nonsense": "invalid choice: 'nonsense'",
}


@pytest.mark.parametrize("line", WRONG, ids=lambda line: ascii(line[:60]))
def test_what_is_given_wrong_is_said_in_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], line: str
) -> None:
    words = [word.replace("|", " ").strip() for word in line.split(" ")]
    if words[0] == "mcp" and "cat" in words:  # it takes standard input and signals for itself
        code, err = run(folder, *words)
    else:
        code, err = main(words), capfd.readouterr().err
    assert (code, err.count("\n")) == (2, 1), err
    assert WRONG[line] in err
    assert err.startswith("retry-guard")
    assert not PYTHON.search(err.replace("'NaN'", "")), err


def run(folder: Path, *words: str) -> tuple[int, str]:
    """Run the command as a process; return its exit code and its errors."""
    ended = subprocess.run(
        [sys.executable, "-m", "retry_guard_console", *map(os.fsencode, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return ended.returncode, ended.stderr.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    ("rights", "said"),
    [
        (os.F_OK, "give its owner the right to read and write it"),
        (os.F_OK | os.R_OK | os.W_OK, "its folder must exist and be writable"),
        (-1, "its folder must exist and be writable"),
    ],
)
def test_a_ledger_that_may_not_be_read_is_told_from_a_folder_that_may_not(
    monkeypatch: pytest.MonkeyPatch, rights: int, said: str
) -> None:
    """No rights of files stop root, so they are played."""

    def access(_path: Path, mode: int) -> bool:
        return rights >= 0 and mode & ~rights == 0

    monkeypatch.setattr(os, "access", access)
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    assert said in str(failure(Path("l.db"), error))
