"""`retry-guard bound`: what it prints, writes and returns."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import retry_guard_core._engine as engine
from retry_guard_console import main
from retry_guard_core import Now, Policy, Record, Terms, Verdict, decide

ONE = ["bound", "--contracts", "read", "--shown", "timeout", "--scripts", "1"]


def test_both_vectors_are_printed_by_cell_and_by_outcome(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*ONE, "--outcomes"]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith(" read ")]
    assert line.split()[:8] == ["read", "timeout", "1", "8", "0/0", "0/0", "0/0", "3/3"]
    assert line.split()[-1] == "yes"
    for outcome in ("not executed", "executed", "late 28 s", "late 57.7 s", "redelivered"):
        assert any(row.strip().startswith(outcome) for row in out.splitlines())
    assert "The guard equals the bound in 1." in out


def test_a_guard_that_is_worse_is_named_and_exits_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
        return decide(replace(terms, read_back=False), record, now, policy)

    monkeypatch.setattr(engine, "decide", blind)
    assert main(ONE) == 1
    out = capsys.readouterr().out
    assert "NO" in out
    assert "The guard equals the bound in 0." in out


def test_a_guard_that_goes_past_the_rules_is_told_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tireless(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
        return decide(terms, record, now, replace(policy, attempts=policy.attempts + 1))

    monkeypatch.setattr(engine, "decide", tireless)
    cell = ["--contracts", "key", "--shown", "timeout", "--scripts", "all", "--attempts", "1"]
    assert main(["bound", *cell]) == 1
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith(" key ")]
    assert line.split()[3:8] == ["64", "0/0", "0/0", "0/0", "64/64"]
    assert line.split()[-1] == "NO"
    assert "re-issue 2 under one key, where 1 are allowed" in " ".join(out.split())


def test_the_propositions_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", "--propositions"]) == 0
    out = capsys.readouterr().out
    assert out.count("Holds.") == 2
    assert "contract" not in out


def test_json_has_both_vectors_and_adds_up(tmp_path: Path) -> None:
    file = tmp_path / "bound.jsonl"
    assert main([*ONE, "--json", str(file)]) == 0
    (line,) = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
    assert (line["contract"], line["shown"], line["script"]) == ("read", "timeout", "1")
    assert line["equal"] is True
    for player in ("bound", "guard"):
        parts = [outcome[player]["calls"] for outcome in line["outcomes"]]
        assert sum(parts) == line[player]["calls"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--contracts", "foo"], "--contracts foo: give some of key_and_read, key,"),
        (["--shown", "timeout,sunset"], "--shown sunset: give some of timeout, error, reset"),
        (["--scripts", ","], "--scripts nothing: give some of 1, 2, all"),
        (["--attempts", "5"], "--attempts 5: give 0 to 4"),
        (["--json", "/no/such/folder/file"], "name another file"),
    ],
)
def test_bad_input_is_one_line_and_exits_2(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main([*ONE, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert said in err
