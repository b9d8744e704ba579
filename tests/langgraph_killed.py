"""A process that is killed inside a tool, and started again on what it left behind.

`python langgraph_killed.py FOLDER KIND DURABILITY kill|resume`. With `kill` the tool commits its
effect and then the process ends, without a word to anyone. `resume` goes on from the SQLite
checkpointer, or sends the message again where nothing was saved; it prints the messages.
"""

import json
import os
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from adapter_suite import Call
from guards import LISTED, PLAIN, changed
from langgraph_agents import asks, graph_of
from retry_guard import Policy
from retry_guard_langgraph import GuardMiddleware
from retry_guard_ledgers import SQLiteLedger

KILLED = 9
READABLE = changed(PLAIN, read_back=LISTED, in_flight_bound=0.05)


def effects_in(folder: Path) -> list[dict[str, Any]]:
    path = folder / "effects.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tools_in(folder: Path, *, kill: bool) -> list[Any]:
    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        line = {"id": f"ch_{len(effects_in(folder)) + 1}", "customer": customer, "amount": amount}
        with (folder / "effects.jsonl").open("a") as file:
            file.write(json.dumps({**line, "created": time.time()}) + "\n")
        if kill:
            os._exit(KILLED)
        return {"id": line["id"]}

    @tool
    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return {"charges": effects_in(folder), "complete": True}

    return [charge, list_charges]


def main(folder: Path, kind: Any, durability: str, step: str) -> None:
    tools = tools_in(folder, kill=step == "kill")
    policy = Policy(lease=0.2, poll=0.01, backoff=0.01)
    guard = GuardMiddleware(
        SQLiteLedger(folder / "guard.db"), [READABLE], tools=tools, scope="acme", policy=policy
    )
    # The model is asked anew where nothing was saved, and then makes the call under another id.
    call = Call(f"call_{step}", {"customer": "c1", "amount": 5})
    saver = SqliteSaver(sqlite3.connect(folder / "graph.db", check_same_thread=False))
    graph = graph_of(kind, guard, tools, asks(call), checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}}
    known = step == "resume" and graph.get_state(config).next
    if known and "tools" in known:  # the model has already spoken
        graph = graph_of(kind, guard, tools, checkpointer=saver)
    given = None if known else {"messages": [HumanMessage("Charge them.")]}
    end = graph.invoke(given, config, durability=durability)
    sys.stdout.write(json.dumps([[m.type, m.content] for m in end["messages"]]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
