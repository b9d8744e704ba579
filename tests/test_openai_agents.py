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
        first, second = capsys.readouterr().out.split("} ")
        assert first + "}" == second.strip()
        assert [effect["body"]["amount"] for effect in server.effects("order-7")] == [1200]
