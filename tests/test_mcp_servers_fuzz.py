"""Twenty seconds of hostile lines from both sides; `make fuzz` goes on for minutes."""

import os
import random
from pathlib import Path

import pytest

import mcp_servers_fuzz
from mcp_servers_fuzz import Lines, fuzz, lost, session

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))


def test_the_proxy_outlives_what_both_sides_say(tmp_path: Path) -> None:
    played, problems = fuzz(tmp_path, SECONDS, SEED)
    assert not problems, "\n".join(problems)
    assert played


def test_an_effect_that_no_ledger_knows_is_found(tmp_path: Path) -> None:
    assert session(1, tmp_path / "1", lines=20) == []
    with (tmp_path / "1" / "performed").open("ab") as file:
        file.write(b'{"marker": "m99999"}\n')
    assert lost(tmp_path / "1") == ['performed, and not in the ledger: b\'{"marker": "m99999"}\'']
    with (tmp_path / "1" / "performed").open("ab") as file:
        file.write(b'{"marker": "m99999"}\n')
    assert 'performed 2 times: b\'{"marker": "m99999"}\'' in lost(tmp_path / "1")


def test_without_the_guard_the_fuzzer_finds_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers_fuzz, "CONTRACTS", "contracts: []\n")
    _, problems = fuzz(tmp_path, 30, 5)
    assert any("performed" in problem for problem in problems)


def test_a_request_is_counted_as_the_proxy_counts_it() -> None:
    lines = Lines(random.Random(0))
    for line in (
        b'{"id": 1, "method": "a"}',
        b'{"id": "1", "method": "a"}',
        b'{"id": 1, "method": "a"}',
        b'{"id": 2, "method": "a", "x": NaN}',
        b'{"id": 3, "result": 1}',
        b'{"id": null, "method": "a"}',
        b'{"id": 4, "method"',
    ):
        lines.note(line)
    assert dict(lines.asked) == {(int, 1): 2, (str, "1"): 1}
