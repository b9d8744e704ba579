"""The MCP proxy beside a direct connection and beside fastmcp's proxy, in one run.

`python benchmarks/mcp_proxy.py [--rounds 300] [--calls 10000] [--check]`. Each kind of call takes
turns between the three, and medians are compared. `--check` exits 1 if a target is missed.
(It is not called `mcp.py`: that name would hide the SDK from every script beside it.)
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import IO, Any

from sides import draft, settled

from retry_guard_ledgers import SQLiteLedger, about

ROOT = Path(__file__).resolve().parents[1]
SERVERS = ROOT / "build" / "servers"
CONTRACTS = "contracts:\n  - tool: write\n"
FASTMCP = """
import sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
create_proxy(StdioTransport(sys.argv[1], sys.argv[2:])).run(transport="stdio", show_banner=False)
"""
NAMES = ("direct", "proxy", "fastmcp")
READ, WRITE, START = 0.5, 0.5, 0.3
"""Targets: ms added to a read, ms that a write adds beyond the ledger's own, s added to a start."""
GROWTH = 1.05
PARALLEL = 64
numbers = count()


class Connection:
    """A client of one of the three, with its session open. `started`: seconds until it was."""

    def __init__(self, command: list[str], folder: Path) -> None:
        """Start it."""
        began = perf_counter()
        pipe = subprocess.PIPE
        with (folder / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, cwd=folder
            )
        assert self.process.stdin
        assert self.process.stdout
        self._stdin: IO[bytes] = self.process.stdin
        self._stdout: IO[bytes] = self.process.stdout
        info = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        self._answer(self.send("initialize", hello))
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.started = perf_counter() - began
        self._answer(self.send("tools/list", {}))

    def _say(self, message: Mapping[str, object]) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def send(self, method: str, params: Mapping[str, object]) -> int:
        """Send a request; return its id."""
        given = next(numbers)
        self._say({"jsonrpc": "2.0", "id": given, "method": method, "params": params})
        return given

    def next(self) -> dict[str, Any]:
        """Return the next response."""
        while True:
            message: dict[str, Any] = json.loads(self._stdout.readline())
            if "method" not in message:
                return message

    def _answer(self, given: int) -> dict[str, Any]:
        message = self.next()
        assert message["id"] == given, message
        return message

    def call(self, tool: str) -> float:
        """Call a tool with an argument of its own; return the seconds that it took."""
        number = next(numbers)
        began = perf_counter()
        answer = self._answer(self.send("tools/call", call_of(tool, number)))
        took = perf_counter() - began
        assert answer["result"]["content"][0]["text"] == str(number), answer
        return took

    def memory(self) -> int:
        """Return the KiB that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1])

    def end(self) -> None:
        """End it."""
        with suppress(OSError):
            self._stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stdout.close()


def call_of(tool: str, number: int) -> dict[str, object]:
    """Return the parameters of a call."""
    return {"name": tool, "arguments": {"number": number}}


@dataclass(frozen=True)
class Found:
    """A measured value, and the target that it must not exceed; None: it is only for comparison."""

    name: str
    value: float
    unit: str
    target: float | None = None

    @property
    def met(self) -> bool:
        """Whether it is within its target."""
        return self.target is None or self.value <= self.target

    def line(self) -> str:
        """The value as it is printed."""
        word = "" if self.target is None else "pass" if self.met else "FAIL"
        target = "" if self.target is None else f"(target {self.target:.3f})"
        return f"{word:5} {self.value:9.3f} {self.unit:2} {target:16} {self.name}"


def commands(folder: Path) -> dict[str, list[str]]:
    """Return how each of the three is started."""
    (folder / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
    server = [sys.executable, str(Path(__file__).with_name("mcp_server.py").resolve())]
    ledger = f"sqlite:///{folder / 'guard.db'}"
    given = ["--contracts", str(folder / "contracts.yaml"), "--ledger", ledger]
    fastmcp = [str(SERVERS / "current" / "bin" / "python"), "-c", FASTMCP]
    return {
        "direct": server,
        "proxy": [sys.executable, "-m", "retry_guard_console", "mcp", *given, "--", *server],
        "fastmcp": [*fastmcp, *server],
    }


def starts(folder: Path, rounds: int) -> list[Found]:
    """How long each takes until its session is open."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, command in commands(folder).items():
            connection = Connection(command, folder)
            found.setdefault(name, []).append(connection.started)
            connection.end()
    direct, ours, theirs = (median(found[name]) for name in NAMES)
    return [
        Found("start, direct", direct, "s"),
        Found(
            f"start, added by the proxy: {ours / direct:.1f} times direct",
            ours - direct,
            "s",
            START,
        ),
        Found(
            f"start, added by fastmcp's: {theirs / direct:.1f} times direct", theirs - direct, "s"
        ),
    ]


def kept(ledger: SQLiteLedger) -> float:
    """Return the seconds that the ledger itself takes for one action."""
    record = draft()
    done, now = settled(record), ledger.now()
    began = perf_counter()
    ledger.claim(record, None, now)
    ledger.save(done)
    ledger.deliver("acme", about(record).id, "turn-1")
    return perf_counter() - began


def calls(folder: Path, open_: Mapping[str, Connection], rounds: int) -> list[Found]:
    """What each adds to a read and to a write; the ledger alone takes its turn with the writes."""
    alone = SQLiteLedger(folder / "alone.db")
    found: list[Found] = []
    ledger = list[float]()
    for tool in ("read", "write"):
        took: dict[str, list[float]] = {name: [] for name in open_}
        for _ in range(rounds):
            for name, connection in open_.items():
                took[name].append(connection.call(tool))
            if tool == "write":
                ledger.append(kept(alone))
        direct, ours, theirs = (1000 * median(took[name]) for name in NAMES)
        target = READ if tool == "read" else 1000 * median(ledger) + WRITE
        found += [
            Found(f"{tool}, direct", direct, "ms"),
            Found(
                f"{tool}, added by the proxy: {ours / direct:.1f} times",
                ours - direct,
                "ms",
                target,
            ),
            Found(
                f"{tool}, added by fastmcp's: {theirs / direct:.1f} times", theirs - direct, "ms"
            ),
        ]
    alone.close()
    return [*found, Found("the ledger alone: claim, save, deliver", 1000 * median(ledger), "ms")]


def many(connection: Connection, number: int) -> Found:
    """How the proxy's memory grows from the first fifth of many calls to their end."""
    for _ in range(number // 10):
        connection.call("read")
        connection.call("write")
    before = connection.memory()
    for _ in range(4 * number // 10):
        connection.call("read")
        connection.call("write")
    growth = connection.memory() / before
    return Found(f"memory after {number:,} calls / after {number // 5:,}", growth, "", GROWTH)


def parallel(connection: Connection) -> Found:
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
    return Found(f"of {PARALLEL} calls at once, with another's answer", wrong + len(asked), "", 0)


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of each call (default 300)")
    parser.add_argument("--calls", type=int, default=10_000, help="for the memory (default 10000)")
    given = parser.parse_args()
    installed = [sys.executable, str(ROOT / "tests" / "mcp_servers_installed.py"), "current"]
    subprocess.run(installed, check=True)
    results: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="bench-mcp-") as name, ExitStack() as stack:
        folder = Path(name)
        print_all(results, starts(folder, 7))
        open_: dict[str, Connection] = {}
        for label, command in commands(folder).items():
            open_[label] = connection = Connection(command, folder)
            stack.callback(connection.end)
        print_all(results, calls(folder, open_, given.rounds))
        for measure in (parallel, partial(many, number=given.calls)):
            print_all(results, [measure(open_["proxy"])])
    return int(given.check and not all(result.met for result in results))


def print_all(results: list[Found], found: list[Found]) -> None:
    """Keep and print what was found."""
    results += found
    for one in found:
        print(one.line(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
