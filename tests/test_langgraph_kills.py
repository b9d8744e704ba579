"""A process that is killed inside a tool: the resumed run finds out what happened."""

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import langgraph_killed
from langgraph_killed import Step, effects_in, requests_in
from retry_guard_ledgers import SQLiteLedger

DURABILITIES = ("sync", "async", "exit")
CELLS = list(
    itertools.product(
        DURABILITIES, ("agent", "node"), ("blocking", "awaited"), ("key", "read-back", "neither")
    )
)
Carry = Callable[[Step], tuple[int, Any]]


@pytest.fixture(scope="module")
def carry() -> Iterator[Carry]:
    """Carry a step out in a process that was forked for it."""
    program = subprocess.Popen(
        [sys.executable, langgraph_killed.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin
    assert program.stdout
    sends, hears = program.stdin, program.stdout

    def ask(step: Step) -> tuple[int, Any]:
        sends.write(step.line())
        sends.flush()
        code, said = json.loads(hears.readline())
        return code, said

    yield ask
    sends.close()
    assert program.wait(30) == 0
    hears.close()


@pytest.mark.parametrize(("durability", "kind", "form", "contract"), CELLS)
def test_a_process_killed_inside_the_tool_charges_once(
    durability: Any, kind: Any, form: Any, contract: str, carry: Carry, tmp_path: Path
) -> None:
    cell: dict[str, Any] = {"folder": str(tmp_path), "durability": durability, "kind": kind}
    cell |= {"form": form, "contract": contract}
    assert carry(Step(**cell, does="kill")) == (-signal.SIGKILL, None)
    assert len(effects_in(tmp_path)) == 1
    code, said = carry(Step(**cell, does="resume"))
    assert code == 0
    asked = contract == "neither"
    assert said == {"pauses": int(asked), "told": ["a person" if asked else '{"id": "ch_1"}']}
    assert len(effects_in(tmp_path)) == 1
    assert len(requests_in(tmp_path)) == (2 if contract == "key" else 1)
    ledger = SQLiteLedger(tmp_path / "guard.db")
    assert [record.state for record in ledger.list()] == ["done"]
    ledger.close()
