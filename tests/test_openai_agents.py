"""The adapter for the OpenAI Agents SDK does what the core does."""

from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from openai_agents_runs import AgentsBench, plainly, streamed
from pages import every_fault, example_that_charges_once

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


@every_fault
def test_the_example_charges_once_on_a_real_server(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with example_that_charges_once("adapters/openai_agents/README.md", fault, tmp_path):
        first, second = capsys.readouterr().out.split("} ")
        assert first + "}" == second.strip()
