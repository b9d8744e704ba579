"""A run that pauses for a person in one process, and goes on in another.

`python openai_agents_resumed.py FOLDER pause|resume`. `pause` loses the answer of a charge, and
keeps the state of the run as JSON. `resume` reads it, answers, and prints how it ended.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, Runner, RunState, SQLiteSession, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from retry_guard import Answer, Contract
from retry_guard_ledgers import SQLiteLedger
from retry_guard_openai_agents import AgentGuard

QUIET = RunConfig(tracing_disabled=True)
CHARGE = {"customer": "c1", "amount": 5}


def agent_in(folder: Path, *says: Any) -> tuple[AgentGuard, Agent[Any]]:
    @function_tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer; the answer is lost."""
        with (folder / "effects").open("a") as file:
            file.write("charge\n")
        raise TimeoutError

    ledger = SQLiteLedger(folder / "guard.db")
    guard = AgentGuard(
        ledger, [Contract(tool="charge")], tools=[charge], scope="acme", turn="m1", approvals=True
    )
    model = ScriptedModel([*says, [assistant_message("I am done.")]])
    return guard, Agent(name="clerk", model=model, tools=guard.tools)


async def pause(folder: Path, session: SQLiteSession) -> None:
    calls = [[function_call("charge", CHARGE, call_id=name)] for name in ("c1", "c8")]
    _, agent = agent_in(folder, *calls)
    result = await Runner.run(agent, "Charge c1.", session=session, run_config=QUIET)
    assert result.interruptions
    (folder / "state.json").write_text(result.to_state().to_string())


async def resume(folder: Path, session: SQLiteSession) -> None:
    guard, agent = agent_in(folder)
    state = await RunState.from_string(agent, (folder / "state.json").read_text())
    (item,) = state.get_interruptions()
    question = await guard.question(item)
    assert question is not None
    assert guard.settle(question, Answer("happened", {"id": "ch_1"}))
    state.approve(item)
    result = await Runner.run(agent, state, session=session, run_config=QUIET)
    last: Any = [each for each in result.to_input_list() if "output" in each][-1]
    effects = len((folder / "effects").read_text().splitlines())
    end = {"output": last["output"], "final": result.final_output, "effects": effects}
    print(json.dumps(end))  # noqa: T201 - read by the test


if __name__ == "__main__":
    place = Path(sys.argv[1])
    step = pause if sys.argv[2] == "pause" else resume
    asyncio.run(step(place, SQLiteSession("s1", place / "session.db")))
