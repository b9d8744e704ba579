"""The report in a terminal: short, with the verdict last, and never lost with a file."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from retry_guard_console import main
from retry_guard_console._items import print_items
from sandbox_rows import TWICE_SENT, off

SMALL = ["--services", "tickets", "--faults", "none", "--seeds", "1", "--jobs", "1"]
BY_ITSELF = "one send itself ran twice: no client can prevent it"
SENT = "it was sent more than once"
LONG = 120.0


def shown(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    code = main(words)
    return code, capfd.readouterr().out.splitlines()


def rows(folder: Path, *places: tuple[str, int]) -> str:
    """A report with duplicates of these tools, each sent so often; return its file."""
    made = [
        replace(TWICE_SENT, tool=tool, task=f"task-{tool}", executed_sends=sends)
        for tool, sends in places
    ]
    file = folder / "made.jsonl"
    lines = [arm.to_json() + "\n" for row in made for arm in (off(row), row)]
    file.write_text("".join(lines), encoding="utf-8")
    return str(file)


def test_duplicates_are_counted_by_kind_with_the_first_of_each(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    once = [(f"a{number}", 1) for number in range(6)]
    twice = [(f"b{number}", 2) for number in range(3)]
    _, lines = shown(capfd, "ab", "--from", rows(tmp_path, *once, *twice))
    at = lines.index("Duplicates that remain:")
    assert lines[at + 1 : at + 10] == [
        f"  {BY_ITSELF}: 6 cells, 6 draws",
        *(f"    native lost_ack a{number}: 1 cell, 1 draws" for number in range(3)),
        "    and 3 more: --html FILE names each",
        f"  {SENT}: 3 cells, 3 draws",
        *(f"    native lost_ack b{number}: 1 cell, 1 draws" for number in range(3)),
    ]


def test_the_verdict_is_the_last_line_of_a_few_whatever_is_found(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = [(f"a{number}", 1 + number % 2) for number in range(200)]
    code, lines = shown(capfd, "ab", "--from", rows(tmp_path, *places))
    assert (code, lines[-1]) == (1, "Verdict: block")
    tail = lines[lines.index("Duplicates that remain:") :]
    assert len(tail) < 40


@pytest.mark.parametrize(("count", "lines"), [(0, 1), (10, 11), (11, 12), (12, 12), (900, 12)])
def test_a_long_list_says_how_many_more_there_are(
    capfd: pytest.CaptureFixture[str], count: int, lines: int
) -> None:
    print_items("Findings", [f"finding {number}" for number in range(count)])
    said = capfd.readouterr().out.splitlines()
    assert len(said) == lines
    assert (said[-1] == f"  and {count - 10} more: --html FILE names each") is (count > 11)


def test_what_is_left_out_of_the_list_is_on_the_page(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    places = [(f"a{number}", 1) for number in range(9)]
    _, lines = shown(capfd, "ab", "--from", rows(tmp_path, *places), "--html", str(page))
    text = page.read_text(encoding="utf-8")
    for tool, _ in places:
        assert f"native lost_ack {tool}: 1 cell, 1 draws" in text
    assert "    and 6 more: --html FILE names each" in lines


def test_nothing_comes_after_the_verdict_on_a_screen_either() -> None:
    """Both streams on one terminal, in the order in which they are written."""
    ended = subprocess.run(
        [sys.executable, "-m", "retry_guard_console", "ab", *SMALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONG,
    )
    lines = ended.stdout.splitlines()
    assert (ended.returncode, lines[-1]) == (0, "Verdict: pass")
    assert any(" episodes in " in line for line in lines)


# Files that cannot be written, and readers that go away


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (["ab", *SMALL], "Verdict: pass"),
        (["bound", "--contracts", "key", "--shown", "timeout", "--scripts", "1"], "Cells: 1."),
    ],
    ids=["ab", "bound"],
)
def test_a_disk_that_is_full_costs_the_file_and_not_the_table(
    words: list[str], last: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--json", "/dev/full"]) == 2
    out, err = capfd.readouterr()
    assert out.splitlines()[-1].startswith(last)
    said = [line for line in err.splitlines() if " episodes in " not in line]
    assert len(said) == 1
    assert said[0].startswith(f"retry-guard {words[0]}: --json /dev/full: No space left on device")


def test_an_evaluation_is_told_though_its_files_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lazy_agent.py").write_text(
        "def run(prompt, tools):\n"
        "    {tool.name: tool for tool in tools}['finish'](status='failed')\n"
    )
    monkeypatch.chdir(tmp_path)
    given = ["--tasks", "charge_invoice", "--faults", "none", "--contracts", "native"]
    assert main(["eval", "lazy_agent:run", *given, "--json", "/dev/full"]) == 2
    out, err = capfd.readouterr()
    assert out.splitlines()[-1].startswith("Verdict: ")
    assert err.count("--json /dev/full: No space left on device") == 1
    assert "Traceback" not in err


def test_a_reader_that_goes_away_costs_no_file(tmp_path: Path) -> None:
    kept = tmp_path / "rows.jsonl"
    page = tmp_path / "page.html"
    reading, writing = os.pipe()
    os.close(reading)
    files = ["--json", str(kept), "--html", str(page)]
    ended = subprocess.run(
        [sys.executable, "-m", "retry_guard_console", "ab", *SMALL, *files],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LONG,
    )
    os.close(writing)
    assert ended.returncode == 141
    assert "Traceback" not in ended.stderr
    assert [json.loads(line)["fault"] for line in kept.read_text().splitlines()]
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
