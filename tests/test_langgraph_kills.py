"""A process that dies inside a tool: the resumed run finds out what happened."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_killed
from langgraph_killed import KILLED, effects_in

PROGRAM = langgraph_killed.__file__


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("kind", "durability"),
    [("agent", "sync"), ("node", "async"), ("agent", "exit")],
)
def test_a_process_killed_inside_the_tool_charges_once(
    kind: str, durability: str, tmp_path: Path
) -> None:
    killed = run(tmp_path, kind, durability, "kill")
    assert killed.returncode == KILLED, killed.stderr
    assert len(effects_in(tmp_path)) == 1
    resumed = run(tmp_path, kind, durability, "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert ["tool", '{"id": "ch_1"}'] in json.loads(resumed.stdout)
    assert len(effects_in(tmp_path)) == 1
