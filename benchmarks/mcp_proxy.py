"""The MCP proxy beside a direct connection and beside fastmcp's proxy, in one run.

`python benchmarks/mcp_proxy.py [--rounds 300] [--calls 10000] [--check]`. In each round every kind
of call is made once, in an order of its own, and medians are compared. `--check` exits 1 if a
target is missed. (It is not called `mcp.py`: that would hide the SDK from scripts beside it.)
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

from ledger import call as guarded_call, guard_on
from mcp_sides import LEDGER, Connection, call_of, commands, connected, no_fastmcp, numbers
from sides import Result, draft, report, settled

from retry_guard_ledgers import SQLiteLedger, about

READ, WRITE, START = 0.5, 0.5, 0.3
"""Targets: ms added to a read, ms that a write adds beyond the ledger's own, s added to a start."""
GROWTH = 1.05
PARALLEL = 64
STARTS = 7
MS = " (ms)"


def measure(rounds: int, number: int = 10_000) -> Iterator[Result]:
    """Measure everything, one result after the other. `number`: calls for the memory."""
    why = no_fastmcp()
    if why is not None:
        yield Result("MCP beside fastmcp's proxy", None, note=f"it cannot be installed: {why}")
    with tempfile.TemporaryDirectory(prefix="bench-mcp-") as name, ExitStack() as stack:
        folder, sides = Path(name), commands(Path(name), fastmcp=why is None)
        yield from starts(folder, sides)
        open_ = {
            label: stack.enter_context(connected(command, folder))
            for label, command in sides.items()
        }
        yield from calls(folder, open_, rounds)
        yield parallel(open_["the proxy"])
        yield from many(folder, open_["the proxy"], number)


def starts(folder: Path, sides: Mapping[str, list[str]]) -> Iterator[Result]:
    """How long each takes until its session is open."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(STARTS):
        for name, command in sides.items():
            with connected(command, folder) as connection:
                found[name].append(connection.started)
    yield from beside("start", {name: median(took) for name, took in found.items()}, START, " (s)")


def calls(folder: Path, open_: Mapping[str, Connection], rounds: int) -> Iterator[Result]:
    """What each adds to a read and to a write, beside what the ledger and the guard alone take."""
    guard, kept = guard_on(SQLiteLedger(folder / "guard-alone.db"))
    alone = SQLiteLedger(folder / "ledger-alone.db")
    kinds: dict[tuple[str, str], Callable[[], float]] = {
        ("alone", "ledger"): partial(recorded, alone),
        ("alone", "guard"): partial(timed, partial(guarded_call, guard)),
    }
    for name, connection in open_.items():
        for tool in ("read", "write"):
            kinds[tool, name] = partial(connection.call, tool)
    took, order = {kind: list[float]() for kind in kinds}, Random(7)
    for _ in range(rounds):
        for kind in order.sample([*kinds], len(kinds)):
            took[kind].append(1000 * kinds[kind]())
    for one in (alone, kept):
        one.close()
    found = {kind: median(each) for kind, each in took.items()}
    ledger = found["alone", "ledger"]
    yield Result("the ledger alone: claim, save, deliver", ledger, note=MS)
    yield Result("the guard alone: a call of Guard in a process", found["alone", "guard"], note=MS)
    for tool, target in (("read", READ), ("write", ledger + WRITE)):
        yield from beside(tool, {name: found[tool, name] for name in open_}, target, MS)


def beside(what: str, found: Mapping[str, float], target: float, unit: str) -> Iterator[Result]:
    """What each side adds to the direct connection; the target is our own."""
    direct = found["direct"]
    yield Result(f"MCP {what}, direct", direct, note=unit)
    for name in (name for name in found if name != "direct"):
        added = found[name] - direct
        text = f"MCP {what}, added by {name}: {found[name] / direct:.1f} times direct"
        yield Result(text, added, target if name == "the proxy" else None, unit)


def recorded(ledger: SQLiteLedger) -> float:
    """Return the seconds that the ledger itself takes for one action.

    All that it does for a guarded write, though a client of the proxy does not wait for `deliver`.
    """
    record = draft()
    done, now = settled(record), ledger.now()
    began = perf_counter()
    ledger.claim(record, None, now)
    ledger.save(done)
    ledger.deliver("acme", about(record).id, "turn-1")
    return perf_counter() - began


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that it takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def many(folder: Path, connection: Connection, number: int) -> Iterator[Result]:
    """How the proxy's memory grows from the first fifth of many calls to their end.

    SQLite keeps up to 32 MiB of the ledger's file, as much as there is of it: that part stops
    growing there, so the target is for the rest.
    """
    kept: list[tuple[int, int]] = []
    for part in (number // 10, 4 * number // 10):
        for _ in range(part):
            connection.call("read")
            connection.call("write")
        kept.append((connection.memory(), (folder / LEDGER).stat().st_size // 1024))
    (before, small), (after, large) = kept
    text = f"MCP memory after {number:,} calls / after {number // 5:,}"
    yield Result(text, after / before)
    rest = (after - (large - small)) / before
    yield Result(f"{text}, less what the ledger's file grew by", rest, GROWTH)


def parallel(connection: Connection) -> Result:
    """How many of some calls at once got an answer that is not their own."""
    asked: dict[int, int] = {}
    for index in range(PARALLEL):
        number = next(numbers)
        tool = "write" if index % 2 else "read"
        asked[connection.send("tools/call", call_of(tool, number))] = number
    answers = [connection.next() for _ in asked]
    wrong = sum(
        answer["result"]["content"][0]["text"] != str(asked.pop(answer["id"], None))
        for answer in answers
    )
    return Result(f"MCP, of {PARALLEL} calls at once: with another's answer", wrong + len(asked), 0)


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of each call (default 300)")
    parser.add_argument("--calls", type=int, default=10_000, help="for the memory (default 10000)")
    given = parser.parse_args()
    return 0 if report(measure(given.rounds, given.calls)) or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
