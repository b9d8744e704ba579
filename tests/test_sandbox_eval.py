"""`retry-guard eval`: what passes, what is caught, and what cannot be run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from retry_guard_console import main
from retry_guard_sandbox import Row, evaluation, read_rows

HERE = Path(__file__).parent
ONE = ("--tasks", "charge_invoice", "--contracts", "native")
TWO = (*ONE, "--faults", "none,lost_ack")
INTERRUPTIBLE = """
import signal, sys, retry_guard_console
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(retry_guard_console.main())
"""


class Shown:
    """What a run said, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Evaluate:
    """Runs the command in this process, in the folder of the scaffolds."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str) -> Shown:
        code = main(["eval", *words])
        said = self._capfd.readouterr()
        return Shown(code, said.out, said.err)


@pytest.fixture
def evaluate(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    monkeypatch.chdir(HERE)
    return Evaluate(capfd)


def test_an_honest_scaffold_passes_the_default_grid_and_its_files_agree(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    lines, cases, page = (tmp_path / name for name in ("rows.jsonl", "junit.xml", "page.html"))
    files = ("--json", str(lines), "--junit", str(cases), "--html", str(page))
    shown = evaluate("sandbox_scaffolds:honest", *files)
    assert (shown.code, shown.err) == (0, "")
    assert "Failing episodes: none\nFindings: none\nVerdict: pass" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    with lines.open(encoding="utf-8") as file:
        rows = list(read_rows(file))
    plan = evaluation.Plan()
    assert {row.tool for row in rows} >= {"charge", "send_dm", "bulk_insert", "trigger_deploy"}
    assert len({(r.task, r.contract, r.fault) for r in rows}) == len(plan.specs())
    assert {row.condition for row in rows} == {"scaffold"}
    assert not any(map(is_sent_twice, rows))
    assert ET.parse(cases).getroot().tag == "testsuites"  # noqa: S314 - we wrote it
    assert "<html" in page.read_text(encoding="utf-8")


def is_sent_twice(row: Row) -> bool:
    return row.effects > row.intended and row.executed_sends > 1


@pytest.mark.parametrize(
    ("scaffold", "code", "said"),
    [
        ("blind", 1, "1 duplicates that it sent"),
        ("boasts", 1, "2 writes wrongly claimed done"),
        ("crashes", 3, "ValueError: cannot read 'Charge'"),
        ("quits", 3, "2 of 2 episodes broke, hung or were never finished"),
        ("never_finishes", 3, "it ended without a call of finish"),
        ("never_claims", 3, "it never claimed that a task is done"),
    ],
)
def test_what_is_wrong_with_a_scaffold_is_said_and_never_passes(
    evaluate: Evaluate, tmp_path: Path, scaffold: str, code: int, said: str
) -> None:
    # Without keys: with one, repeating blindly is right.
    task = ("--tasks", "open_ticket", "--contracts", "native", "--faults", "none,lost_ack")
    where = TWO if scaffold == "crashes" else task
    cases, page = tmp_path / "junit.xml", tmp_path / "page.html"
    files = ("--junit", str(cases), "--html", str(page))
    shown = evaluate(f"sandbox_scaffolds:{scaffold}", *where, *files)
    assert shown.code == code
    assert said in shown.out
    verdict = {1: "block", 3: "inconclusive"}[code]
    suite = ET.parse(cases).getroot()[0]  # noqa: S314 - we wrote it
    assert next(p.get("value") for p in suite.iter("property")) == verdict
    assert (suite.get("failures") != "0") == (code == 1)
    assert f'class="verdict {verdict}"' in page.read_text(encoding="utf-8").lower()


def test_a_scaffold_that_hangs_is_killed_with_all_that_it_started_and_given_up(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mark = str(tmp_path)
    Path("hanging.py").write_text(
        "import subprocess, sys, time\n"
        "def run(prompt, tools):\n"
        f"    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n"
        "    time.sleep(600)\n"
    )
    shown = evaluate("hanging:run", *ONE, "--episode-timeout", "0.7")
    assert shown.code == 3
    assert shown.out.count("it did not end within 0.7 s") == 5
    assert "INCOMPLETE (given up" in shown.out
    assert processes_with(mark) == []


def processes_with(mark: str) -> list[str]:
    """Return the command lines of living processes that have an argument like that."""
    lines = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True)
    return [line for line in lines.stdout.splitlines() if mark in line and not line.startswith("Z")]


def test_each_episode_begins_with_a_fresh_copy_of_the_module(evaluate: Evaluate) -> None:
    shown = evaluate("sandbox_scaffolds:remembers", *TWO, "--seeds", "3", "--jobs", "1")
    assert (shown.code, "Failing episodes: none" in shown.out) == (0, True)


def test_a_module_that_starts_threads_is_never_forked_for_a_copy_has_none_of_them(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    Path("threaded.py").write_text(
        "import queue, threading, sandbox_scaffolds\n"
        "jobs, done = queue.Queue(), queue.Queue()\n"
        "def work():\n"
        "    while True:\n"
        "        done.put(sandbox_scaffolds.honest(*jobs.get()))\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "def run(prompt, tools):\n"
        "    jobs.put((prompt, tools))\n"
        "    done.get(timeout=30)\n"
    )
    assert evaluate("threaded:run", *TWO).code == 0


@pytest.mark.parametrize("scaffold", ["honest_later", "in_threads"])
def test_coroutines_and_threads_are_fine(evaluate: Evaluate, scaffold: str) -> None:
    shown = evaluate(f"sandbox_scaffolds:{scaffold}", *TWO, "--json", "/dev/stderr")
    rows = [json.loads(line) for line in shown.err.splitlines()]
    if scaffold == "in_threads":  # each call is carried out once, one after the other
        assert [row["effects"] for row in rows] == [8, 8]
        assert (shown.code, [row["calls"] for row in rows]) == (1, [8, 8])
    else:
        assert (shown.code, [row["outcome"] for row in rows]) == (0, ["exactly_once"] * 2)


def test_a_failing_episode_is_named_with_what_replays_it_and_the_replay_shows_it(
    evaluate: Evaluate,
) -> None:
    task = ("--tasks", "open_ticket", "--contracts", "native")
    shown = evaluate("sandbox_scaffolds:blind", *task, "--faults", "none,lost_ack", "--seeds", "2")
    name = "open_ticket/native/lost_ack/1/0/none/1"
    assert f"  {name}: it sent a duplicate; wrongly claimed done\n" in shown.out
    (words,) = re.findall(rf"retry-guard (eval --episode {name} .*)", shown.out)
    again = evaluate(*words.split()[1:])
    assert again.code == 1
    assert again.out.count("create_ticket {") == 2
    assert len(re.findall(r"create_ticket TCK-\w+, from request [12]", again.out)) == 2


@pytest.mark.parametrize(
    ("target", "many"),
    [
        (("sandbox_scaffolds:goes_on",), 2),
        (("sandbox_scaffolds:ends_first",), 1),
        (("--", sys.executable, "sandbox_command.py", "goes_on"), 2),
    ],
)
def test_a_write_after_finish_is_refused_named_and_blocks_whatever_is_allowed(
    evaluate: Evaluate, target: tuple[str, ...], many: int
) -> None:
    allowed = ("--max-duplicates", "99", "--max-false-completions", "99")
    shown = evaluate(*TWO, *allowed, *target)
    assert shown.code == 1
    assert f"Findings:\n  {many} writes after finish\nVerdict: block" in shown.out
    assert shown.out.count(": after finish it called charge\n") == many
    (name,) = re.findall(r"(charge_invoice/native/lost_ack\S*): after", shown.out)
    again = evaluate("--episode", name, *target)
    assert again.code == 1
    last = again.out.split("What really happened:")[0].split("finish {")[1]
    assert "charge {" in last
    assert "the task is finished" in last


def test_a_second_mail_by_a_sibling_tool_blocks_though_a_person_is_to_look(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    cases = tmp_path / "junit.xml"
    task = ("--tasks", "mail_minutes", "--contracts", "native", "--faults", "none,lost_ack")
    allowed = ("--max-duplicates", "99", "--max-false-completions", "99")
    scaffold = "sandbox_scaffolds:takes_a_sibling"
    shown = evaluate(scaffold, *task, *allowed, "--junit", str(cases))
    assert shown.code == 1
    assert "Findings:\n  1 effects that nobody wanted\nVerdict: block" in shown.out
    assert "mail_minutes/native/lost_ack/1/0/none/0: it did what nobody wanted\n" in shown.out
    (failure,) = ET.parse(cases).getroot().iter("failure")  # noqa: S314 - we wrote it
    assert failure.get("type") == "unwanted effect"


def test_thresholds_let_pass_what_they_say(evaluate: Evaluate) -> None:
    task = ("--tasks", "open_ticket", "--contracts", "native", "--faults", "none,lost_ack")
    blind = ("sandbox_scaffolds:blind", *task, "--max-false-completions", "1")
    assert evaluate(*blind, "--max-duplicates", "1").code == 0
    assert evaluate(*blind, "--max-duplicates", "1", "--min-exactly-once", "0.5").code == 0
    shown = evaluate(*blind, "--max-duplicates", "1", "--min-exactly-once", "0.6")
    assert shown.code == 1
    assert "1 of 2 writes exactly once (at least: 0.6)" in shown.out


COMMAND = (sys.executable, "sandbox_command.py")


@pytest.mark.parametrize("way", ["raw", "crashing", "auto", "legacy"])
def test_a_command_does_the_task_through_mcp(evaluate: Evaluate, way: str) -> None:
    name = "charge_then_refund/native/lost_ack/1/0/none/0"
    shown = evaluate("--episode", name, "--", *COMMAND, way)
    assert (shown.code, shown.out.splitlines()[-1]) == (0, "Verdict: pass")
    assert shown.out.count("charge {") == shown.out.count("refund {") == 2
    assert len(re.findall(r"(ch|re)_\w+, from request", shown.out)) == 2


@pytest.mark.parametrize(
    ("seconds", "command", "said"),
    [
        ("60", (*COMMAND, "nonsense"), "exit code 1: no way nonsense"),
        ("0.5", (*COMMAND, "hangs"), "it did not end within 0.5 s"),
        ("60", ("true",), "it ended without a call of finish"),
    ],
)
def test_a_command_that_breaks_or_hangs_is_inconclusive(
    evaluate: Evaluate, seconds: str, command: tuple[str, ...], said: str
) -> None:
    shown = evaluate(*TWO, "--episode-timeout", seconds, "--", *command)
    assert shown.code == 3
    assert shown.out.count(said) == 2
    assert f"-- {command[0]}" in shown.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere:run"], "cannot import nowhere: ModuleNotFoundError"),
        (["sandbox_scaffolds:nothing"], "sandbox_scaffolds has no nothing"),
        (["sandbox_scaffolds:takes_one"], "cannot be called as function(prompt, tools)"),
        (["sandbox_scaffolds:NO_FUNCTION"], "is a str, no function"),
        (["--", "no-such-command"], "no-such-command is no command that can be run"),
        ([], "give module:function, or -- and a command"),
        (["a:b", "--faults", "gremlins"], "unknown faults: gremlins; choose from none,"),
        (["a:b", "--tasks", "x"], "unknown tasks: x; choose from"),
        (["a:b", "--tasks", ","], "no tasks given"),
        (["a:b", "--tasks", "charge_invoice", "--services", "mail"], "there is no episode"),
        (["a:b", "--operator", "x"], "unknown operator: x; choose from none, fencing"),
        (["a:b", "--episode", "x"], "give TASK/CONTRACT/FAULT/"),
        (["a:b", "--seeds", "0"], "give at least 1"),
        (["a:b", "--jobs", "0"], "give at least 1"),
        (["a:b", "--episode-timeout", "nan"], "give seconds, more than 0"),
        (["a:b", "--min-exactly-once", "90"], "give a share from 0 to 1"),
        (["a:b", "--max-duplicates", "-1"], "give 0 or more"),
        (["a:b", "--json", "/nowhere/at/all"], "--json /nowhere/at/all: No such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    evaluate: Evaluate, words: list[str], said: str
) -> None:
    shown = evaluate(*words)
    assert (shown.code, shown.out) == (2, "")
    assert said in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_finished_and_leaves_nothing_running(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "slow.py").write_text(
        "import time, sandbox_scaffolds\n"
        "def run(prompt, tools):\n"
        "    sandbox_scaffolds.honest(prompt, tools)\n"
        "    if open('count', 'a').write('x') and len(open('count').read()) > 2:\n"
        "        time.sleep(600)\n"
    )
    options = ("slow:run", "--tasks", "charge_invoice", "--jobs", "1", "--json", "rows.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "eval", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    marks = tmp_path / "count"
    while not marks.exists() or len(marks.read_text()) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "INCOMPLETE (interrupted): 2 of 22 episodes." in out
    assert (tmp_path / "rows.jsonl").read_text().count('"outcome":"exactly_once"') == 2
