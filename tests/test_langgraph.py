"""The adapter for LangGraph does what the core does, in both of its harnesses."""

from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from langgraph_agents import LangGraphBench, awaited, blocking, streamed
from pages import every_fault, example_that_charges_once

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


@every_fault
def test_the_example_charges_once_on_a_real_server(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with example_that_charges_once("adapters/langgraph/README.md", fault, tmp_path):
        first, second = capsys.readouterr().out.splitlines()
        assert first == second
