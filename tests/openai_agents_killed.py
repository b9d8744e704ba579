"""A process that is killed inside a tool, and started again with the same session.

`python openai_agents_killed.py FOLDER kill|again`. With `kill` the tool commits its effect and
then the process ends. `again` asks for the same once more; it prints what the model has read.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from agents import Agent, FunctionTool, RunConfig, Runner, SQLiteSession, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from guards import LISTED, PLAIN, changed
from retry_guard import Policy
from retry_guard_ledgers import SQLiteLedger
from retry_guard_openai_agents import AgentGuard

KILLED = 9
READABLE = changed(PLAIN, read_back=LISTED, in_flight_bound=0.05)


def effects_in(folder: Path) -> list[dict[str, Any]]:
    path = folder / "effects.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tools_in(folder: Path, *, kill: bool) -> list[FunctionTool]:
    @function_tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        line = {"id": f"ch_{len(effects_in(folder)) + 1}", "customer": customer, "amount": amount}
        with (folder / "effects.jsonl").open("a") as file:
            file.write(json.dumps({**line, "created": time.time()}) + "\n")
        if kill:
            os._exit(KILLED)
        return {"id": line["id"]}

    @function_tool
    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return {"charges": effects_in(folder), "complete": True}

    return [charge, list_charges]


async def main(folder: Path, step: str) -> None:
    guard = AgentGuard(
        SQLiteLedger(folder / "guard.db"),
        [READABLE],
        tools=tools_in(folder, kill=step == "kill"),
        scope="acme",
        turn="msg-41",
        policy=Policy(lease=0.2, poll=0.01, backoff=0.01),
    )
    call = function_call("charge", {"customer": "c1", "amount": 5}, call_id=os.urandom(4).hex())
    model = ScriptedModel([[call], [assistant_message("Done.")]])
    agent = Agent(name="clerk", model=model, tools=guard.tools)
    session = SQLiteSession("s1", folder / "session.db")
    config = RunConfig(tracing_disabled=True)
    await Runner.run(agent, "Charge c1.", session=session, run_config=config)
    items: list[Any] = await session.get_items()
    print(json.dumps([item["output"] for item in items if "output" in item]))  # noqa: T201 - read by the test


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
