"""The core stays under 200 lines of code, formatted at 100 columns, without golfing."""

import subprocess
import sys
from pathlib import Path

import pytest

from code_lines import code_lines, count_path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "guard_core"
LIMIT = 200
COLUMNS = 100


def test_the_core_is_under_200_lines_of_code() -> None:
    assert count_path(CORE) < LIMIT


def test_the_core_is_formatted_at_100_columns() -> None:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--check"]
    command += ["--line-length", str(COLUMNS), "--target-version", "py311", str(CORE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_line_of_code_in_the_core_escapes_the_formatter() -> None:
    for file in CORE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        lines = source.splitlines()
        assert "fmt:" not in source, f"{file.name} switches the formatter off"
        assert [n for n in code_lines(source) if len(lines[n - 1]) > COLUMNS] == [], file.name


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("\n\n# a comment\n", 0),
        ('"""One line."""\n', 0),
        ('"""Many\n\nlines."""\n\nX = 1\n', 1),
        ("X = 1  # with a comment\n", 1),
        ("X = (\n    1,\n\n    # a comment\n    2,\n)\n", 4),
        ('def f() -> None:\n    """Doc."""\n', 1),
        ('def f() -> None:\n    """Doc."""; return\n', 2),
        ('class C:\n    """Many\n    lines."""\n\n    x: int\n    "no docstring"\n', 3),
        ('async def f() -> None:\n    "Two " "parts."\n    await g()\n', 2),
        ('X = """text\n\nmore"""\n', 3),
        ('X = f"""text\n{1}\n\nmore"""\n', 4),
        ('def é() -> str:\n    """é"""; return "é"\n', 2),
    ],
)
def test_only_lines_that_hold_code_count(source: str, lines: int) -> None:
    assert len(code_lines(source)) == lines
