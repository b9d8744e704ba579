"""A process that is killed inside a tool, and another one that goes on from what it left behind.

`python langgraph_killed.py` imports what it needs once, reads a `Step` as JSON from each line of
its input, and carries it out in a forked process, which has nothing in common with the others but
a folder. In a `kill` the tool commits its effect and then its process kills itself. `resume` goes
on from the SQLite checkpointer, or sends the message again where nothing was saved, and answers
what it is asked. Each step is answered with a line: the exit code, and what the step said.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from adapter_suite import CONTRACTS, Call
from langgraph_agents import Kind, asks, graph_of
from retry_guard import Policy
from retry_guard_langgraph import GuardMiddleware
from retry_guard_ledgers import SQLiteLedger
from retry_guard_ledgers._clock import Clocks, machine_clocks

CONFIG: Any = {"configurable": {"thread_id": "1"}}
POLICY = Policy(poll=0.01, backoff=0.01)
LATER = 60.0
"""Seconds between a kill and what goes on from it: the lease of the killed process has ended."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One process of one cell."""

    folder: str
    kind: Kind
    durability: Literal["sync", "async", "exit"]
    form: Literal["blocking", "awaited"]
    contract: str
    does: Literal["kill", "resume"]

    def line(self) -> str:
        """The step as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"


def requests_in(folder: Path) -> list[dict[str, Any]]:
    """What came to the service, in order."""
    path = folder / "requests.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def effects_in(folder: Path) -> list[dict[str, Any]]:
    """What really happened: a request with a key that is known already has no effect."""
    return [each for each in requests_in(folder) if each["new"]]


def tools_of(step: Step) -> list[Any]:
    """The tools of an agent, each with a body for either form."""
    folder = Path(step.folder)

    def charged(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        effects = effects_in(folder)
        known = next((each for each in effects if key and each["key"] == key), None)
        line = known or {"id": f"ch_{len(effects) + 1}", "created": time.time(), "key": key}
        line = {**line, "customer": customer, "amount": amount, "new": known is None}
        with (folder / "requests.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        if step.does == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"id": line["id"]}

    def keyed(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        return charged(customer, amount, key)

    def plain(customer: str, amount: int) -> dict[str, Any]:
        return charged(customer, amount)

    body: Callable[..., Any] = keyed if CONTRACTS[step.contract].key else plain

    async def awaited(**arguments: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        result: dict[str, Any] = body(**arguments)
        return result

    @tool
    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return {"charges": effects_in(folder), "complete": True}

    made: Any = StructuredTool
    charge = made.from_function(body, awaited, name="charge", description="Charge a customer.")
    return [charge, list_charges]


def clocks(step: Step) -> Clocks:
    """The machine's clocks; for what goes on they show a later time."""
    real = machine_clocks()
    ahead = LATER if step.does == "resume" else 0.0
    return Clocks(lambda: real.steady() + ahead, lambda: real.wall() + ahead, real.boot)


def graph(step: Step, checkpointer: Any, *, spoken: bool) -> Any:
    """An agent whose model is asked anew where nothing was saved: then its call has another id."""
    tools = tools_of(step)
    guard = GuardMiddleware(
        SQLiteLedger(Path(step.folder) / "guard.db", clocks=clocks(step)),
        [CONTRACTS[step.contract]],
        tools=tools,
        scope="acme",
        policy=POLICY,
    )
    call = Call(f"call_{step.does}", {"customer": "c1", "amount": 5})
    says = () if spoken else (asks(call),)
    return graph_of(step.kind, guard, tools, *says, checkpointer=checkpointer)


def answers_to(end: dict[str, Any]) -> Any:
    """Say that what is asked about happened; None: nothing is asked."""
    questions = [each.value[0]["action_request"]["args"] for each in end.get("__interrupt__", ())]
    named = {each["question"]: {"answer": "happened", "result": "a person"} for each in questions}
    return Command(resume=named) if named else None


def said(ends: list[dict[str, Any]]) -> dict[str, Any]:
    """How often it paused, and what the model was told in the end."""
    told = [m.content for m in ends[-1]["messages"] if m.type == "tool"]
    return {"pauses": len(ends) - 1, "told": told}


def given_after(next_nodes: tuple[str, ...]) -> Any:
    """Return the message where nothing was saved, so that no node is next."""
    return None if next_nodes else {"messages": [HumanMessage("Charge them.")]}


def blocking(step: Step) -> dict[str, Any]:
    """Run, and answer until nothing is asked."""
    with SqliteSaver.from_conn_string(f"{step.folder}/graph.db") as checkpointer:
        known = graph(step, checkpointer, spoken=False).get_state(CONFIG).next
        run, given = graph(step, checkpointer, spoken="tools" in known), given_after(known)
        ends = list[dict[str, Any]]()
        while not ends or (given := answers_to(ends[-1])):
            ends.append(run.invoke(given, CONFIG, durability=step.durability))
    return said(ends)


async def awaited(step: Step) -> dict[str, Any]:
    """The same, awaited."""
    async with AsyncSqliteSaver.from_conn_string(f"{step.folder}/graph.db") as checkpointer:
        known = (await graph(step, checkpointer, spoken=False).aget_state(CONFIG)).next
        run, given = graph(step, checkpointer, spoken="tools" in known), given_after(known)
        ends = list[dict[str, Any]]()
        while not ends or (given := answers_to(ends[-1])):
            ends.append(await run.ainvoke(given, CONFIG, durability=step.durability))
    return said(ends)


def carry_out(step: Step, answer: int) -> None:
    """Do it, and write what it said to the file descriptor `answer`."""
    found = blocking(step) if step.form == "blocking" else asyncio.run(awaited(step))
    os.write(answer, json.dumps(found).encode())


def in_a_fork(step: Step) -> tuple[int, Any]:
    """Carry a step out in a process of its own; return its exit code and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        carry_out(step, writing)
        sys.exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:  # noqa: PTH123 - a descriptor is no path
        text = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, json.loads(text) if text else None


def main() -> None:
    """Carry out steps until the input ends."""
    gc.freeze()  # forked processes need not look through what was imported
    for line in sys.stdin:
        answer = in_a_fork(Step(**json.loads(line)))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
