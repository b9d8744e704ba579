"""The adapter for LangGraph does what the core does, in both of its harnesses."""

import re
from pathlib import Path

import pytest

from adapter_suite import Cell, every_cell
from faulty import faulty_server_in
from langgraph_agents import LangGraphBench, awaited, blocking, streamed

PAGE = Path(__file__).resolve().parents[1] / "adapters/langgraph/README.md"
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


@pytest.mark.parametrize("fault", ["ok", "lost_ack", "error_after", "reset_before"])
def test_the_example_charges_once_on_a_real_server(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with faulty_server_in(tmp_path / "server") as server:
        server.plan("order-7", fault)
        code = code.replace("http://127.0.0.1:8080", server.url)
        code = code.replace("sqlite:///guard.db", f"sqlite:///{tmp_path}/guard.db")
        exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})  # noqa: S102 - our own page
        first, second = capsys.readouterr().out.splitlines()
        assert first == second
        assert [effect["body"]["amount"] for effect in server.effects("order-7")] == [1200]
