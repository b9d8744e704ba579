"""What docs/evaluating.md shows can be run as it stands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "evaluating.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
COMMANDS = re.findall(r"^\$ (retry-guard eval .*)$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    made = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python there to its end."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_page_shows_a_function_a_program_tests_and_how_to_run_them() -> None:
    assert set(FILES) == {"my_agent.py", "my_program.py", "test_my_agent.py"}
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_passes(folder: Path, command: str) -> None:
    small = ("--faults", "none,lost_ack") if "--episode" not in command else ()
    _, *words = shlex.split(command)
    shown = run(folder, "retry_guard_console", words[0], *small, *words[1:])
    assert (shown.returncode, shown.stdout.splitlines()[-1]) == (0, "Verdict: pass")


def test_the_tests_of_the_page_pass(folder: Path) -> None:
    shown = run(folder, "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore")
    assert "2 passed" in shown.stdout
