"""What the guard adds to a harness's tool call, in one run: LangGraph's `ToolNode.invoke`.

`python benchmarks/adapters.py --check` exits 1 if a target is missed. Each round runs every kind
once, in an order of its own, and the lower quartiles of processor time are compared, of all
threads: waiting for the disk is the ledger's, and is the same with and without a harness.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from statistics import quantiles
from time import process_time
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from sides import Result, report

from retry_guard import Contract, Guard
from retry_guard_langgraph import GuardMiddleware
from retry_guard_ledgers import SQLiteLedger
from retry_guard_outcomes import classify

READ, WRITE = Contract(tool="look", effect="read"), Contract(tool="charge")
CONFIG: Any = {"configurable": {"__pregel_runtime": Runtime()}}
EXTRA = 0.3
"""Milliseconds that a guarded write may cost beside the ledger."""


@tool
def look(number: int) -> dict[str, int]:
    """Read something."""
    return {"number": number}


@tool
def charge(number: int) -> dict[str, int]:
    """Write something."""
    return {"number": number}


def nodes(folder: Path) -> tuple[ToolNode, ToolNode]:
    """The same node without and with a guard."""
    ledger = SQLiteLedger(folder / "adapter.db")
    guard = GuardMiddleware(ledger, [READ, WRITE], tools=[look, charge], scope="acme")
    guarded = ToolNode(
        [look, charge], wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call
    )
    return ToolNode([look, charge]), guarded


def asking(name: str, numbers: Iterator[int]) -> Callable[[ToolNode], float]:
    """Return what times one call of a tool, in milliseconds."""

    def call(node: ToolNode) -> float:
        number = next(numbers)
        made = {"name": name, "args": {"number": number}, "id": f"c{number}", "type": "tool_call"}
        messages = [HumanMessage("Do it.", id="h1"), AIMessage("", tool_calls=[made])]
        began = process_time()
        node.invoke({"messages": messages}, CONFIG)
        return (process_time() - began) * 1e3

    return call


def in_a_thread(work: Callable[[], object]) -> float:
    """Time work in a thread of its own, which is where a node runs each call."""
    began = process_time()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    return (process_time() - began) * 1e3


def alone(folder: Path, numbers: Iterator[int]) -> Callable[[], object]:
    """Return one guarded call without a harness: the ledger's work and the core's."""
    guard = Guard(SQLiteLedger(folder / "alone.db"), [WRITE], classify=classify)

    def call() -> object:
        arguments = {"number": next(numbers)}
        return guard.call("charge", arguments, send=lambda a, _: a, scope="acme", turn="h1")

    return call


def langgraph(rounds: int, folder: Path) -> Iterator[Result]:
    """Measure the adapter for LangGraph."""
    numbers = count()
    plain, guarded = nodes(folder)
    read, write, ledger = asking("look", numbers), asking("charge", numbers), alone(folder, numbers)
    kinds: dict[str, Callable[[], float]] = {
        "plain read": lambda: read(plain),
        "guarded read": lambda: read(guarded),
        "plain write": lambda: write(plain),
        "guarded write": lambda: write(guarded),
        "guard alone": lambda: in_a_thread(ledger),
        "thread": lambda: in_a_thread(int),
    }
    order = Random(7)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(rounds + rounds // 10):
        for name in order.sample([*kinds], len(kinds)):
            spent = kinds[name]()
            if number >= rounds // 10:  # the first ones warm up
                times[name].append(spent)
    took = {name: quantiles(spent, n=4)[0] for name, spent in times.items()}
    yield from (Result(f"LangGraph: {name}", spent, note=" (ms)") for name, spent in took.items())
    yield Result(
        "LangGraph: a guarded read, to ToolNode.invoke",
        took["guarded read"] / took["plain read"],
        1.1,
    )
    ledger_alone = took["guard alone"] - took["thread"]
    extra = took["guarded write"] - took["plain write"] - ledger_alone
    note = " (ms)"
    yield Result("LangGraph: what a guarded write costs beside the ledger", extra, EXTRA, note)


def measure(rounds: int) -> Iterator[Result]:
    """Measure everything, one result after the other."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield from langgraph(rounds, Path(folder))


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, default=500, help="rounds of each (default 500)")
    given = parser.parse_args()
    return 0 if report(measure(given.rounds)) or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
