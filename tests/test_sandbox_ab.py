"""`retry-guard ab`, as a person or a CI runs it: in a process of its own."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from retry_guard_console import main
from retry_guard_console._interrupts import interruptible
from retry_guard_sandbox import CHOICES, HEADING, Row, junit, page, read_rows, report
from sandbox_rows import BROKEN, GOOD, MISSED, TWICE_SENT, drawn, off

COMMAND = "import sys; from retry_guard_console import main; sys.exit(main())"
SMALL = (
    *("--services", "tickets", "--contracts", "native", "--agents", "retry,new_key"),
    *("--faults", "lost_ack,redelivery", "--attempts-hit", "1"),
)


TINY = ("--seeds", "1", "--tasks", "open_ticket", "--jobs", "1")


def ab(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "ab", *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def written(folder: Path, rows: list[Row]) -> str:
    """Write rows to a file; return its name."""
    file = folder / "some.jsonl"
    file.write_text("".join(row.to_json() + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_every_file_is_regenerated_from_the_rows_byte_for_byte(tmp_path: Path) -> None:
    names = ("rows", "junit", "html")
    one, two = ({name: tmp_path / f"{name}-{i}" for name in names} for i in (1, 2))
    ran = ab(
        *SMALL,
        *TINY,
        *("--conditions", "no_guard,guard,wait_60"),
        *("--json", str(one["rows"]), "--junit", str(one["junit"]), "--html", str(one["html"])),
    )
    again = ab(
        *("--from", str(one["rows"])),
        *("--junit", str(two["junit"]), "--html", str(two["html"])),
        PYTHONHASHSEED="7",
    )
    assert (again.returncode, again.stdout) == (ran.returncode, ran.stdout)
    for name in ("junit", "html"):
        assert one[name].read_bytes() == two[name].read_bytes()
    with one["rows"].open(encoding="utf-8") as lines:
        result = report(read_rows(lines))
    assert one["junit"].read_text(encoding="utf-8") == junit(result)
    assert one["html"].read_text(encoding="utf-8") == page(result)


def test_equal_seeds_give_equal_bytes_across_processes_jobs_and_hash_seeds(
    tmp_path: Path,
) -> None:
    files = [tmp_path / name for name in ("one", "two", "three")]
    runs = [
        ab(*SMALL, "--seeds", "1", "--jobs", jobs, "--json", str(file), PYTHONHASHSEED=hash_seed)
        for file, jobs, hash_seed in zip(files, ("1", "2", "3"), ("1", "2", "0"), strict=True)
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert runs[0].stdout == runs[1].stdout == runs[2].stdout


def test_the_table_says_what_the_rows_say_what_it_is_and_pools_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    assert main(["ab", *SMALL, *TINY, "--json", str(file)]) == 0
    shown = capfd.readouterr().out
    first = shown.splitlines()[0]
    assert first == "Agents are scripted: this measures guard and contract mechanics, not models."
    assert "%" not in shown
    with file.open(encoding="utf-8") as lines:
        result = report(read_rows(lines))
    folded = " ".join(shown.split())
    assert all(" ".join(line.texts()) in folded for line in result.lines)
    assert "one send itself ran twice: no client can prevent it" in folded
    places = [f"{one.place}: {one.many}" for one in result.left[:3]]
    assert all(text in folded for text in (*places, f"Verdict: {result.verdict}"))


def test_it_says_what_it_took_beside_the_report() -> None:
    shown = ab(*SMALL, *TINY[:-1], "2")
    assert shown.stderr.count("\n") == 1
    assert " episodes in " in shown.stderr
    assert " per second, --jobs 2; peak memory " in shown.stderr
    assert shown.stderr.endswith(" MB (3 processes)\n")


def test_it_fits_a_terminal_of_80_columns(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also with the longest names that there are, and hundreds of cells."""
    rows = [
        replace(GOOD, fault=fault, contract=contract, condition=arm, task=f"task-{task}")
        for contract in CHOICES["contracts"][:2]
        for fault in CHOICES["faults"]
        for arm in CHOICES["conditions"]
        for task in range(100 if arm in ("no_guard", "guard") else 1)
    ]
    assert main(["ab", "--from", written(tmp_path, rows)]) == 0
    shown = capfd.readouterr().out
    assert "100/100" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert max(map(len, HEADING.splitlines())) <= 79


def test_models_fit_too_and_show_their_statistics(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pairs = [*drawn(*[(TWICE_SENT, GOOD)] * 8)]
    rows = [
        replace(row, agent="model-x", fault=fault, task=f"task-{row.seed}", seed=0)
        for fault in ("lost_ack", "late_commit_heavy_tail")
        for row in pairs
    ]
    assert main(["ab", "--from", written(tmp_path, rows), "--end-point", "exactly_once"]) == 0
    shown = capfd.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "End point: exactly_once" in shown
    assert shown.count("differs") == 2


@pytest.mark.parametrize("option", ["--json", "--junit", "--html"])
def test_a_full_file_is_one_line_and_exit_code_2(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["ab", *SMALL, *TINY, option, "/dev/full"]) == 2
    shown = capfd.readouterr()
    said = shown.err.splitlines()[-1]
    assert said.startswith(f"retry-guard ab: {option} /dev/full: No space left on device")
    assert shown.err.count("\n") == 2  # and how long it took
    assert shown.out.splitlines()[-1] == "Verdict: pass"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--faults", "gremlins"], "choose from none, "),
        (["--agents", "retry,poet"], "unknown agents: poet; choose from retry, "),
        (["--services", "fax"], "choose from social, billing, "),
        (["--tasks", "nap"], "choose from post_release, "),
        (["--services", "billing", "--tasks", "open_ticket"], "no episode is left"),
        (["--contracts", ","], "no contracts given"),
        (["--conditions", "hope"], "choose from no_guard, guard"),
        (["--harness", "horse"], "choose from none, "),
        (["--operator", "shy"], "choose from fencing"),
        (["--attempts-hit", "3"], "choose from 1, 2, all"),
        (["--reads-hit", "3"], "choose from 0, 1, 2, all"),
        (["--seeds", "0"], "give at least 1"),
        (["--seeds", "many"], "is no whole number"),
        (["--jobs", "0"], "give at least 1"),
        (["--margin", "2"], "between 0 and 1"),
        (["--margin", "nan"], "between 0 and 1"),
        (["--end-point", "bliss"], "choose from duplicate, omission"),
        (["--json", "/nowhere/at/all"], "name another file"),
        (["--html", "/nowhere/at/all"], "--html /nowhere/at/all: "),
        (["--junit", "/"], "--junit /: Is a directory; name another file"),
        (["--from", "/nowhere/at/all"], "--from /nowhere/at/all: "),
        (["--from", "/dev/null", "--faults", "none"], "leave out --faults"),
        (["--from", "/dev/null", "--operator", "fencing"], "leave out --operator"),
        (["--from", "/dev/null", "--json", "/dev/null"], "leave out --json"),
        (["--bound", "/dev/null"], "give --html too"),
        (["--bound", "/nowhere", "--html", "/dev/null"], "--bound /nowhere: "),
        (["--gremlins"], "unrecognized arguments"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["ab", *options]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert said in shown.err.splitlines()[-1]


@pytest.mark.parametrize("rest", [b"{\n", b"\xff\n", b"\n", b"[1]\n"])
def test_a_broken_file_of_rows_is_named_with_its_line(
    rest: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(GOOD.to_json().encode() + b"\n" + rest)
    assert main(["ab", "--from", str(file)]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"retry-guard ab: --from {file}: ")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([off(GOOD), GOOD], 0),
        ([off(GOOD), MISSED], 1),
        ([off(TWICE_SENT), TWICE_SENT], 1),
        ([off(GOOD), BROKEN], 1),
        ([off(MISSED), BROKEN], 3),
        ([GOOD], 3),
        ([], 3),
    ],
)
def test_the_exit_code_is_that_of_the_rows(
    rows: list[Row], code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["ab", "--from", written(tmp_path, rows)]) == code
    assert capfd.readouterr().out.count("Verdict: ") == 1


def test_ctrl_c_keeps_what_was_finished_and_says_so(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("json", "junit", "html")}
    options = [part for name, file in files.items() for part in (f"--{name}", str(file))]
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "ab", *SMALL, "--seeds", "3000", "--jobs", "2", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal interrupts the whole group, workers too
    )
    while not (files["json"].exists() and files["json"].stat().st_size):
        assert running.poll() is None, running.communicate()
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out.startswith("INCOMPLETE (interrupted): ")
    assert "Verdict: " in out
    assert "Traceback" not in err
    assert "interrupted: ending what is under way" in err.splitlines()[0]
    with files["json"].open(encoding="utf-8") as lines:
        rows = list(read_rows(lines))
    counted = int(out.removeprefix("INCOMPLETE (interrupted): ").partition(" ")[0].replace(",", ""))
    assert sum(row.write == 0 for row in rows) == counted > 0
    for name in ("junit", "html"):
        assert "INCOMPLETE (interrupted): " in files[name].read_text(encoding="utf-8")


def test_a_second_ctrl_c_stops_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.came
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "once more to stop at once" in capfd.readouterr().err


def test_an_arm_alone_is_inconclusive_and_exit_code_3(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ab", *SMALL, *TINY, "--conditions", "guard"]) == 3
    assert "no episode of the arm no_guard" in capfd.readouterr().out


def test_all_means_every_name(capfd: pytest.CaptureFixture[str]) -> None:
    for agents in ("all", ",".join(CHOICES["agents"])):
        main(["ab", *SMALL, *TINY, "--agents", agents])
    listed, named = capfd.readouterr().out.split("Agents are scripted")[1:]
    assert listed == named


def test_the_help_has_an_example_and_the_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ab", "--help"]) == 0
    shown = capfd.readouterr().out
    assert "retry-guard ab --faults" in shown
    assert "inconclusive" in shown


@pytest.mark.parametrize("twice", [["--html", "{}"], ["--junit", "{}"]])
def test_one_file_for_two_reports_is_refused_and_left_as_it_is(
    twice: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    assert ab(*SMALL, "--seeds", "1", "--json", str(file)).returncode == 0
    before = file.read_bytes()
    option = [text.format(file) for text in twice]
    for source in (["--from", str(file)], [*SMALL, "--json", str(file)]):
        refused = ab(*source, *option)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "name one file" in refused.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("option", ["--json", "--junit", "--html"])
@pytest.mark.parametrize(
    "content", [b"SQLite format 3\0" + bytes(100), b"contracts:\n- {tool: charge}\n", b"{}}"]
)
def test_a_report_is_written_over_none_but_its_like(
    option: str, content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "kept"
    file.write_bytes(content)
    refused = ab(*SMALL, "--seeds", "1", option, str(file))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "it holds something else, which would be lost; name another file" in refused.stderr
    assert file.read_bytes() == content


def test_no_report_is_written_over_what_is_read_by_whatever_name(tmp_path: Path) -> None:
    rows, bound = tmp_path / "rows.jsonl", tmp_path / "bound.jsonl"
    cell = ("--contracts", "read", "--shown", "timeout", "--scripts", "1", "--attempts", "1")
    assert main(["bound", *cell, "--json", str(bound)]) == 0
    assert ab(*SMALL, "--seeds", "1", "--json", str(rows)).returncode == 0
    (tmp_path / "same").hardlink_to(rows)
    (tmp_path / "like").hardlink_to(bound)
    before, page = (rows.read_bytes(), bound.read_bytes()), tmp_path / "page.html"
    for words in (
        ("--from", str(rows), "--junit", str(tmp_path / "same")),
        ("--from", str(rows), "--bound", str(bound), "--html", str(tmp_path / "like")),
        (*SMALL, "--bound", str(bound), "--html", str(page), "--json", str(bound)),
    ):
        refused = ab(*words)
        assert (refused.returncode, "name one file" in refused.stderr) == (2, True)
    assert (rows.read_bytes(), bound.read_bytes()) == before


def test_reports_are_written_over_earlier_ones(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("rows", "cases", "page")]
    given = [
        str(one)
        for pair in zip(("--json", "--junit", "--html"), files, strict=True)
        for one in pair
    ]
    assert [ab(*SMALL, "--seeds", "1", *given).returncode for _ in range(2)] == [0, 0]


def test_what_argparse_refuses_is_one_line() -> None:
    for options in (["--seeds", "x"], ["extra"], ["ex\ntra"]):
        refused = ab(*options)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
