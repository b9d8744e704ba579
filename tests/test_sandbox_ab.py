"""`retry-guard ab`, as a person or a CI runs it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retry_guard_sandbox import HEADING, read_rows, report

COMMAND = "import sys; from retry_guard_console import main; sys.exit(main())"
SMALL = (
    *("--services", "tickets", "--contracts", "native"),
    *("--faults", "lost_ack,redelivery", "--attempts-hit", "1"),
)


def ab(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "ab", *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_equal_seeds_give_equal_bytes_across_processes_jobs_and_hash_seeds(
    tmp_path: Path,
) -> None:
    files = [tmp_path / name for name in ("one", "two", "three")]
    runs = [
        ab(*SMALL, "--jobs", jobs, "--json", str(file), PYTHONHASHSEED=hash_seed)
        for file, jobs, hash_seed in zip(files, ("1", "2", "3"), ("1", "2", "0"), strict=True)
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert runs[0].stdout == runs[1].stdout == runs[2].stdout


def test_the_table_and_the_lines_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    shown = ab(*SMALL, "--seeds", "1", "--json", str(file))
    with file.open(encoding="utf-8") as lines:
        result = report(read_rows(lines))
    for line in result.lines:
        assert all(text in shown.stdout for text in line.texts())
    assert result.remaining
    for text in (*result.remaining, f"Verdict: {result.verdict}"):
        assert text in " ".join(shown.stdout.split())
    assert shown.stderr == ""


def test_it_says_what_it_is_and_pools_nothing() -> None:
    shown = ab(*SMALL, "--seeds", "1")
    first = shown.stdout.splitlines()[0]
    assert "a census of guard and contracts, not a sample of models" in first
    assert "%" not in shown.stdout
    assert "one send itself ran twice: no client can prevent it" in " ".join(shown.stdout.split())


def test_it_fits_a_terminal_of_80_columns() -> None:
    shown = ab("--seeds", "1", "--agents", "retry", "--faults", "all", "--contracts", "all")
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert max(map(len, HEADING.splitlines())) <= 79


def test_a_full_file_is_one_line_and_exit_code_2() -> None:
    refused = ab(*SMALL, "--seeds", "1", "--json", "/dev/full")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "--json /dev/full" in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--faults", "gremlins"], "choose from none, lost_request, lost_ack"),
        (["--agents", "retry,poet"], "unknown agents: poet; choose from retry, read_then_retry"),
        (["--services", "mail"], "choose from billing, tickets"),
        (["--contracts", ","], "no contracts given"),
        (["--conditions", "hope"], "choose from no_guard, guard"),
        (["--operator", "silent"], "choose from fencing"),
        (["--attempts-hit", "3"], "choose from 1, 2, all"),
        (["--seeds", "0"], "give at least 1"),
        (["--seeds", "many"], "invalid int value"),
        (["--jobs", "0"], "give at least 1"),
        (["--json", "/nowhere/at/all"], "name another file"),
        (["--gremlins"], "unrecognized arguments"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(options: list[str], said: str) -> None:
    refused = ab(*options)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr.splitlines()[-1]
    assert "Traceback" not in refused.stderr


def test_an_arm_alone_is_inconclusive_and_exit_code_3() -> None:
    alone = ab(*SMALL, "--seeds", "1", "--conditions", "guard")
    assert alone.returncode == 3
    assert "no episode of the arm no_guard" in alone.stdout


def test_all_means_every_name() -> None:
    listed = ab(*SMALL, "--seeds", "1", "--agents", "all")
    named = ab(*SMALL, "--seeds", "1", "--agents", "retry,read_then_retry,new_key")
    assert listed.stdout == named.stdout


def test_the_help_has_an_example_and_the_exit_codes() -> None:
    shown = ab("--help")
    assert shown.returncode == 0
    assert "retry-guard ab --faults" in shown.stdout
    assert "inconclusive" in shown.stdout
