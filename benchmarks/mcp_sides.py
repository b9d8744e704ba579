"""The sides of the benchmark of the MCP proxy: a server alone, and behind each of two proxies."""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
CURRENT = ROOT / "build" / "servers" / "current" / "bin" / "python"
CONTRACTS = "contracts:\n  - tool: write\n"
LEDGER = "guard.db"
FASTMCP = """
import sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
create_proxy(StdioTransport(sys.argv[1], sys.argv[2:])).run(transport="stdio", show_banner=False)
"""
numbers = count()


class Connection:
    """A client of one side, with its session open. `started`: seconds until it was."""

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


@contextmanager
def connected(command: list[str], folder: Path) -> Generator[Connection]:
    """Open a connection, and end it."""
    connection = Connection(command, folder)
    try:
        yield connection
    finally:
        connection.end()


def commands(folder: Path, *, fastmcp: bool) -> dict[str, list[str]]:
    """Return how each side is started. `fastmcp`: there is that one."""
    (folder / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
    server = [sys.executable, str(Path(__file__).with_name("mcp_server.py").resolve())]
    given = ["--contracts", str(folder / "contracts.yaml")]
    given += ["--ledger", f"sqlite:///{folder / LEDGER}"]
    sides = {
        "direct": server,
        "the proxy": [sys.executable, "-m", "retry_guard_console", "mcp", *given, "--", *server],
        "fastmcp's": [str(CURRENT), "-c", FASTMCP, *server],
    }
    return {name: command for name, command in sides.items() if fastmcp or name != "fastmcp's"}


def no_fastmcp() -> str | None:
    """Install fastmcp, if need be; return why it is not there, None if it is."""
    installed = [sys.executable, str(ROOT / "tests" / "mcp_servers_installed.py"), "current"]
    done = subprocess.run(installed, stderr=subprocess.PIPE, check=False)
    if done.returncode == 0:
        return None
    return "".join(done.stderr.decode(errors="replace").strip().splitlines()[-1:]) or "no reason"
