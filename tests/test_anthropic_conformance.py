"""Every fault with every contract: the loop and the tool runner answer as the core does."""

from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from anthropic_agents import AnthropicBench, Kind, Runner, awaited, blocking

KINDS: tuple[Kind, ...] = ("loop", "loop-stream", "runner", "runner-eager")
BENCHES = {
    f"{kind}-{name}": (kind, run)
    for kind in KINDS
    for name, run in (("sync", blocking), ("async", awaited))
}


@every_cell
@pytest.mark.parametrize(("kind", "run"), BENCHES.values(), ids=BENCHES)
def test_the_adapter_answers_as_the_core_does(
    kind: Kind, run: Runner, cell: Cell, tmp_path: Path
) -> None:
    cell.check(AnthropicBench(kind, run), tmp_path)


@every_cell
@pytest.mark.parametrize("kind", ["loop", "runner"])
def test_tools_that_are_awaited_answer_as_the_core_does(
    kind: Kind, cell: Cell, tmp_path: Path
) -> None:
    cell.check(AnthropicBench(kind, awaited, awaited_tools=True), tmp_path)
