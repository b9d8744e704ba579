"""The adapter for LangGraph does what the core does, in both of its harnesses."""

from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from langgraph_agents import LangGraphBench, awaited, blocking, streamed

BENCHES = {
    "agent-blocking": LangGraphBench("agent", blocking),
    "agent-awaited": LangGraphBench("agent", awaited),
    "node-streamed": LangGraphBench("node", streamed),
}


@pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
@every_cell
def test_the_adapter_answers_as_the_core_does(
    cell: Cell, bench: LangGraphBench, tmp_path: Path
) -> None:
    cell.check(bench, tmp_path)
