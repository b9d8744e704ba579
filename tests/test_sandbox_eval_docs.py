"""What docs/evaluating.md shows can be run as it stands."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retry_guard_sandbox import evaluation

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


def test_what_began_a_session_of_its_own_outlives_its_episode_as_the_page_says(
    tmp_path: Path,
) -> None:
    assert "session or a process group of its own" in TEXT
    (tmp_path / "starts.py").write_text(
        "import subprocess, sys, time\n"
        "for apart in (True, False):\n"
        "    words = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "    print(subprocess.Popen(words, start_new_session=apart).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    launch = evaluation.command([sys.executable, str(tmp_path / "starts.py")], lambda _: {})
    visit = evaluation.Visit("", "", "", tmp_path)
    running = launch(visit)
    while visit.log.read_text().count("\n") < 2:
        assert running.wait(0.02) is None
    running.kill()
    running.wait(60)
    apart, below = map(int, visit.log.read_text().split())
    try:
        while is_alive(below):
            time.sleep(0.01)
        assert is_alive(apart)
    finally:
        os.kill(apart, signal.SIGKILL)


def is_alive(process: int) -> bool:
    """Whether that process still runs."""
    words = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")
