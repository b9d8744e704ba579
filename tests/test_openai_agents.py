"""The adapter for the OpenAI Agents SDK does what the core does."""

import re
from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from faulty import faulty_server_in
from openai_agents_runs import AgentsBench, plainly, streamed

PAGE = Path(__file__).resolve().parents[1] / "adapters/openai_agents/README.md"
BENCHES = {
    "plain": AgentsBench(plainly),
    "streamed": AgentsBench(streamed),
    "plain-approvals": AgentsBench(plainly, approvals=True),
    "streamed-approvals": AgentsBench(streamed, approvals=True),
}


@pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
@every_cell
def test_the_adapter_answers_as_the_core_does(
    cell: Cell, bench: AgentsBench, tmp_path: Path
) -> None:
    cell.check(bench, tmp_path)
