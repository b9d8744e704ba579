"""`retry-guard ab --model`, as a person runs it: bad input, caps, records and replays."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from retry_guard_console import main
from retry_guard_console._transcript import Record
from retry_guard_sandbox import read_rows, run
from retry_guard_sandbox.models import Run, TranscriptError, opening_line, read_transcript
from retry_guard_sandbox.models._endpoint import Endpoint as Reached
from sandbox_endpoint import Endpoint, listening
from test_sandbox_ab import COMMAND
from test_sandbox_models import SPEC

SMALL = (
    *("--contracts", "native", "--faults", "late_commit", "--attempts-hit", "1"),
    *("--services", "billing", "--tasks", "charge_invoice"),
)
Lines = Callable[[list[dict[str, Any]]], object]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-of-a-test")


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    with listening() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(served: Endpoint) -> Endpoint:
    served.bodies.clear()
    served.turns.clear()
    return served


def ab(endpoint: Endpoint, model: str, *options: str) -> int:
    return main(["ab", *SMALL, "--model", model, "--base-url", endpoint.url, *options])


def test_it_ends_in_the_report_of_models_and_replays_byte_for_byte(
    endpoint: Endpoint,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("rows", "page", "junit")
    one, two = ({name: tmp_path / f"{name}-{n}" for name in names} for n in (1, 2))
    said = str(tmp_path / "said.jsonl")

    def outputs(files: dict[str, Path]) -> tuple[str, ...]:
        options = zip(("--json", "--html", "--junit"), files.values(), strict=True)
        return tuple(text for option, file in options for text in (option, str(file)))

    models = "openai:retry,openai-responses:new_key,anthropic:give_up"
    prices = ",".join(f"{name}=1/2" for name in models.split(","))
    arms = ("--conditions", "no_guard,guard,guard_advises,careful_prompt")
    costs = ("--price", prices, "--record", said, "--cost-cap", "1", "--jobs", "2")
    code = ab(endpoint, models, *arms, *costs, *outputs(one))
    live = capfd.readouterr()
    assert "Models act in simulated services: draws are a sample" in live.out
    assert live.out.count("Model: ") == 3
    assert "late_commit" in live.out
    assert "scripted" not in live.out
    assert f"asking {models.replace(',', ', ')}: 12 episodes, with a cap" in live.err
    assert " tokens, which cost 0.0" in live.err
    assert live.err.count("\n") == 3

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setattr(Reached, "__init__", None)
    assert main(["ab", "--replay", said, *outputs(two)]) == code
    assert capfd.readouterr().out == live.out
    for name in names:
        assert one[name].read_bytes() == two[name].read_bytes()
    assert len(endpoint.bodies) > 12


def test_an_endpoint_that_is_down_is_said_before_any_episode(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "rows.jsonl"
    kept.write_text("dear", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = Endpoint(f"http://127.0.0.1:{free.getsockname()[1]}")
        record = tmp_path / "said.jsonl"
        options = ("--json", str(kept), "--record", str(record), "--model-timeout", "5")
        assert ab(nobody, "openai:x", *options) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("retry-guard ab: openai:x: Connection error")
    assert shown.err.count("\n") == 1
    assert kept.read_text(encoding="utf-8") == "dear"
    assert not record.exists()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai:unknown-key", "openai:unknown-key: HTTP 401: no: *** is not welcome"),
        ("anthropic:page", "anthropic:page: its answer is no JSON"),
        ("openai-responses:other", "its answer has another shape: output: "),
        ("openai:retry,anthropic:list", "anthropic:list: its answer is no object"),
        ("anthropic:limited", "cut short (stop_reason: max_tokens)"),
    ],
)
def test_so_is_one_that_is_of_no_use(
    model: str, said: str, endpoint: Endpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ab(endpoint, model) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.count("\n") == 1


def test_no_cap_holds_where_tokens_are_not_counted(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ab(endpoint, "openai:uncounted", "--token-cap", "9") == 2
    assert "does not count its tokens, so no cap can hold" in capfd.readouterr().err
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "gpt"], "gpt is no model: give openai:NAME, openai-responses:NAME, "),
        (["--model", ","], "--model names none"),
        (["--model", "openai:x", "--token-cap", "0"], "--token-cap 0: give at least 1"),
        (["--model", "openai:x", "--cost-cap", "0"], "--cost-cap 0: give more than 0"),
        (["--model", "openai:x", "--cost-cap", "nan"], "--cost-cap nan: give more than 0"),
        (["--model", "openai:x", "--cost-cap", "1"], "--price has none for openai:x"),
        (["--model", "openai:x", "--price", "openai:x"], "give MODEL=GIVEN/MADE"),
        (["--model", "openai:x", "--price", "openai:x=1/1,y=1/1"], "--price y: no --model"),
        (["--model", "openai:x", "--model-timeout", "0"], "--model-timeout 0: give seconds"),
        (["--model", "openai:x", "--model-timeout", "inf"], "--model-timeout inf: give seconds"),
        (["--model", "openai:x", "--record", "/dev/null"], "it is there already"),
        (
            ["--model", "openai:x", "--base-url", "nowhere"],
            "openai:x: Connection error: Request URL",
        ),
        (
            ["--model", "openai:x", "--base-url", "http://x:y"],
            "check --base-url and OPENAI_API_KEY",
        ),
        (["--model", "openai:x", "--harness", "paraphrase"], "no episode is left"),
        (["--conditions", "guard_promises"], "no episode is left"),
        (["--record", "said.jsonl"], "--record is for models, so give --model too"),
        (["--token-cap", "9"], "--token-cap is for models, so give --model too"),
        (["--replay", "x", "--model", "openai:x"], "leave out --model"),
        (["--replay", "x", "--seeds", "2"], "leave out --seeds"),
        (["--from", "x", "--replay", "x"], "leave out --replay"),
        (["--from", "x", "--model", "openai:x"], "leave out --model"),
        (["--replay", "/nowhere"], "--replay /nowhere: No such file"),
        (["--replay", "/"], "--replay /: Is a directory"),
        (
            ["--replay", "/dev/null"],
            "--replay /dev/null: line 1 is of no transcript: it is no JSON",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["ab", *options]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.count("\n") == 1


def test_without_a_key_it_says_which(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert main(["ab", "--model", "anthropic:x"]) == 2
    assert "no ANTHROPIC_API_KEY: set it" in capfd.readouterr().err


def test_a_cap_is_inconclusive_and_keeps_what_was_finished(
    endpoint: Endpoint, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows, said = tmp_path / "rows.jsonl", tmp_path / "said.jsonl"
    options = ("--seeds", "9", "--token-cap", "900", "--jobs", "1", "--json", str(rows))
    assert ab(endpoint, "openai:give_up", *options, "--record", str(said)) == 3
    live = capfd.readouterr().out
    assert live.startswith("INCOMPLETE (--token-cap 900 reached): ")
    with rows.open(encoding="utf-8") as lines:
        assert 1 <= sum(1 for _ in read_rows(lines)) < 18
    again = tmp_path / "again.jsonl"
    assert main(["ab", "--replay", str(said), "--json", str(again)]) == 3
    assert capfd.readouterr().out.startswith("INCOMPLETE (the transcript holds no more): ")
    assert again.read_bytes() == rows.read_bytes()


def test_errors_of_an_endpoint_are_counted_in_one_line_and_make_it_inconclusive(
    endpoint: Endpoint, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    endpoint.turns["retry"] = (6, "page")
    rows = tmp_path / "rows.jsonl"
    options = ("--jobs", "1", "--seeds", "2", "--json", str(rows))
    assert ab(endpoint, "openai:retry", *options) == 3
    shown = capfd.readouterr()
    assert "episodes that ended in an error: EndpointRubbishError" in shown.out
    assert "2 episodes ended in an error: openai:retry: its answer is no JSON" in shown.err
    assert "Traceback" not in shown.err
    with rows.open(encoding="utf-8") as lines:
        assert [row.error for row in read_rows(lines)][2:] == ["EndpointRubbishError"] * 2


def test_ctrl_c_keeps_what_was_finished_also_in_the_transcript(tmp_path: Path) -> None:
    said, rows = tmp_path / "said.jsonl", tmp_path / "rows.jsonl"
    with listening() as endpoint:
        options = ("--model", "openai:give_up", "--base-url", endpoint.url, "--seeds", "3000")
        files = ("--record", str(said), "--json", str(rows))
        running = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "ab", *SMALL, *options, *files],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (said.exists() and said.read_bytes().count(b"\n") > 3):
            assert running.poll() is None, running.communicate()
        os.kill(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out.startswith("INCOMPLETE (interrupted): ")
    assert "Traceback" not in err
    again = tmp_path / "again.jsonl"
    assert main(["ab", "--replay", str(said), "--json", str(again)]) == 3
    assert again.read_bytes() == rows.read_bytes()


def test_what_was_paid_for_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    with path.open("x", encoding="utf-8") as file:
        Record(path, file).write("an episode\n")
        assert path.read_text(encoding="utf-8") == "an episode\n"


# Transcripts that do not fit


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a transcript with one episode."""
    said = tmp_path_factory.mktemp("models") / "said.jsonl"
    with pytest.MonkeyPatch.context() as patch, listening() as endpoint:
        patch.setenv("OPENAI_API_KEY", "k")
        ab(endpoint, "openai:retry", "--conditions", "guard", "--record", str(said))
    return said.read_text(encoding="utf-8").splitlines(keepends=True)


def _shorter(exchanges: list[dict[str, Any]]) -> None:
    exchanges.pop()


def _longer(exchanges: list[dict[str, Any]]) -> None:
    exchanges.append(exchanges[-1])


def _other_answer(exchanges: list[dict[str, Any]]) -> None:
    call = exchanges[0]["answer"]["choices"][0]["message"]["tool_calls"][0]["function"]
    call["arguments"] = call["arguments"].replace("4200", "4300")


def _other_prompt(exchanges: list[dict[str, Any]]) -> None:
    exchanges[0]["asked"]["messages"][1]["content"] += "!"


def _other_tools(exchanges: list[dict[str, Any]]) -> None:
    exchanges[0]["asked"]["tools"].pop()


def _other_result(exchanges: list[dict[str, Any]]) -> None:
    exchanges[1]["asked"]["messages"][0]["content"] = "{}"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_shorter, "a request more than was recorded"),
        (_longer, "it ends before the last recorded request"),
        (_other_answer, "request 2 is another one now"),
        (_other_prompt, "request 1 is another one now"),
        (_other_tools, "request 1 is another one now"),
        (_other_result, "request 2 is another one now"),
    ],
)
def test_a_transcript_that_does_not_fit_its_episode_is_refused_in_one_line(
    change: Lines,
    why: str,
    recorded: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    episode = json.loads(recorded[1])
    change(episode["exchanges"])
    file = tmp_path / "said.jsonl"
    file.write_text(recorded[0] + json.dumps(episode) + "\n", encoding="utf-8")
    assert main(["ab", "--replay", str(file)]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    place = "line 2 does not fit its episode (charge_invoice late_commit guard openai:retry seed 0)"
    assert shown.err == f"retry-guard ab: --replay {file}: {place}: {why}; record it anew\n"


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("fault", "gremlins", "there is no faults gremlins here"),
        ("task", "nap", "there is no tasks nap here"),
        ("agent", "poet", "poet is no model"),
        ("seed", "many", "seed: "),
        ("attempts_hit", "9", "attempts_hit: "),
    ],
)
def test_a_transcript_of_what_does_not_exist_is_refused(
    field: str, value: str, why: str, recorded: list[str]
) -> None:
    episode = json.loads(recorded[1])
    episode["spec"][field] = value
    with pytest.raises(TranscriptError, match=r"line 2 is of no transcript: .*") as refused:
        list(read_transcript([recorded[0], json.dumps(episode)]).episodes)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", "{}", '{"spec": {}, "exchanges": 7}', "[" * 100_000, '"\\ud800"'],
)
def test_a_line_that_is_none_is_named(line: str, recorded: list[str]) -> None:
    with pytest.raises(TranscriptError, match="line 1 is of no transcript"):
        read_transcript([line])
    with pytest.raises(TranscriptError, match="line 2 is of no transcript"):
        list(read_transcript([recorded[0], line]).episodes)


def test_an_episode_of_a_script_says_nothing_and_is_played_all_the_same() -> None:
    spec = replace(SPEC, agent="retry")
    episode: dict[str, Any] = {
        "spec": {name: getattr(spec, name) for name in spec.__slots__},
        "exchanges": [],
    }
    lines = [opening_line(1), json.dumps(episode)]
    rows = list(Run().replayed(read_transcript(lines), progress=print, stop=bool))
    assert rows == run(spec)


def test_without_models_no_sdk_is_imported() -> None:
    code = (
        "import sys; import retry_guard_sandbox.models; from retry_guard_console import main;"
        "main(['ab', '--help']);"
        "print({'openai', 'anthropic', 'httpx2'} & set(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stderr == "set()\n"
