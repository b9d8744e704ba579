"""The fixture `retry_guard_eval`, in a pytest of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = """
import pytest
import sandbox_scaffolds as scaffolds

TICKETS = {"tasks": ["open_ticket"], "contracts": ["native"], "faults": ["none", "lost_ack"]}


def test_good(retry_guard_eval):
    report = retry_guard_eval(scaffolds.honest, services=["billing"], faults=["none", "lost_ack"])
    report.assert_exactly_once()
    assert len(report.episodes) > 4


def test_closure_and_coroutine(retry_guard_eval):
    called = []

    async def agent(prompt, tools):
        called.append(prompt)
        await scaffolds.honest_later(prompt, tools)

    retry_guard_eval(agent, tasks="charge_invoice", faults="none").assert_passes()
    assert called == ["Charge customer cus_ada 42.00 eur for the May invoice."] * 2


def test_blind(retry_guard_eval):
    report = retry_guard_eval(scaffolds.blind, **TICKETS)
    report.assert_passes(max_duplicates=1, max_false_completions=1)
    report.assert_passes()


def test_not_exactly_once(retry_guard_eval):
    report = retry_guard_eval(scaffolds.honest, tasks=["open_ticket"], faults=["lost_request"])
    report.assert_exactly_once()


def test_hangs(retry_guard_eval):
    def agent(prompt, tools):
        import time

        time.sleep(600)

    retry_guard_eval(agent, timeout=0.1, **TICKETS).assert_passes()


def test_breaks(retry_guard_eval):
    retry_guard_eval(scaffolds.crashes, **TICKETS).assert_passes(max_duplicates=9)


def test_exits(retry_guard_eval):
    retry_guard_eval(lambda prompt, tools: exit(0), **TICKETS).assert_passes()


def test_wrong_function(retry_guard_eval):
    retry_guard_eval(scaffolds.takes_one)


def test_wrong_name(retry_guard_eval):
    retry_guard_eval(scaffolds.honest, faults=["gremlins"])


def test_wrong_option(retry_guard_eval):
    retry_guard_eval(scaffolds.honest, fault=["none"])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tests of scaffolds."""
    made = tmp_path_factory.mktemp("project")
    (made / "test_agent.py").write_text(TESTS)
    return made


def run(folder: Path, *options: str) -> str:
    """Run pytest there to its end; return what it said."""
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(HERE), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return shown.stdout + shown.stderr


def test_a_team_tests_its_agent_and_reads_which_episode_failed_and_how_to_replay_it(
    folder: Path,
) -> None:
    said = run(folder)
    ended = dict(re.findall(r"^(FAILED|PASSED) test_agent.py::(\w+)", said, re.MULTILINE))
    assert ended
    assert set(re.findall(r"^FAILED test_agent.py::(\w+)", said, re.MULTILINE)) == {
        "test_blind",
        "test_not_exactly_once",
        "test_hangs",
        "test_breaks",
        "test_exits",
        "test_wrong_function",
        "test_wrong_name",
        "test_wrong_option",
    }
    name = "open_ticket/native/lost_ack/1/0/none/0"
    for text in (
        "block: 1 duplicates that it sent (allowed: 0); 1 writes wrongly claimed done",
        f"{name}: it sent a duplicate; wrongly claimed done",
        f"pytest test_agent.py::test_blind --retry-guard-episode {name}",
        "it did not end within 0.1 s",
        "ValueError: cannot read",
        "SystemExit: 0",
        "cannot be called as function(prompt, tools)",
        "unknown faults: gremlins; choose from none",
        "unexpected keyword argument 'fault'",
        "not exactly once",
    ):
        assert text in said
    replayed = run(folder, "test_agent.py::test_blind", "--retry-guard-episode", name)
    assert replayed.count("create_ticket {") == 2
    assert "from request 2" in replayed


def test_pytest_does_not_import_the_sandbox_until_a_test_asks_for_it(folder: Path) -> None:
    (folder / "test_other.py").write_text(
        "import sys\n\n\n"
        "def test_nothing_was_imported():\n"
        "    ours = {name for name in sys.modules if name.startswith('retry_guard')}\n"
        "    assert ours == {'retry_guard_console', 'retry_guard_console._pytest'}\n"
    )
    assert "1 passed" in run(folder, "test_other.py")
