"""A client that speaks to the proxy line by line, as a process of the real command."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from forked import Forked
from retry_guard_core import Record
from retry_guard_ledgers import open_ledger

SERVER = str(Path(__file__).with_name("mcp_proxy_server.py"))
COMMAND = (sys.executable, "-m", "retry_guard_console", "mcp")
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
CONTRACTS = """\
contracts:
  - tool: charge
    key: {param: key, retention: 86400}
  - tool: post
  - tool: post.dotted
  - tool: typed
    read_back:
      tool: list_charges
      items: charges
      match: {arguments.text: text}
      id: id
      unique: true
      visibility_lag: 0
  - {tool: list_charges, effect: read}
"""
LONG = 60.0
"""Seconds that are waited for what has to come: for a machine that has much to do."""

Json = dict[str, Any]
Given = str | int


class Site:
    """A server's folder, contracts and a ledger, for one proxy after another.

    `forked`: proxies are forked from a process that has imported what they need, which is most of
    what a start takes. Not where a test is about how one starts.
    """

    forked = True

    def __init__(self, folder: Path, contracts: str = CONTRACTS) -> None:
        self.folder = folder
        self.ledger = f"sqlite:///{folder / 'guard.db'}"
        (folder / "contracts.yaml").write_text(contracts, encoding="utf-8")

    @property
    def server(self) -> tuple[str, ...]:
        # Without `site`, which it does not need, it starts faster.
        return (sys.executable, "-S", SERVER, str(self.folder))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of tools that reached the server."""
        heard = [json.loads(one) for one in self.heard if '"tools/call"' in one]
        return [one["params"] for one in heard]

    def records(self) -> list[Record]:
        ledger = open_ledger(self.ledger)
        try:
            return ledger.list("acme")
        finally:
            ledger.close()

    @property
    def effects(self) -> list[dict[str, Any]]:
        return self._lines("effects.jsonl")

    @property
    def heard(self) -> list[str]:
        return self._lines("heard.jsonl")

    @property
    def lives(self) -> list[int]:
        return self._lines("lives.txt")

    def _lines(self, name: str) -> list[Any]:
        path = self.folder / name
        whole, _, _ = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
        return [json.loads(one) for one in whole.splitlines()]

    def put(self, name: str, text: str) -> None:
        """Write a file, so that who reads it sees what was or what is, and nothing between."""
        draft = self.folder / f"{name}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.folder / name)

    def fates(self, *fates: str) -> None:
        self.put("fates.jsonl", "".join(json.dumps(one) + "\n" for one in fates))

    def go(self) -> None:
        """Let the calls that are held go on."""
        (self.folder / "go.txt").touch()

    def proxy(self, *options: str, server: Sequence[str] | None = None) -> "Proxy":
        """Start a proxy in front of the scripted server."""
        given = ("--contracts", str(self.folder / "contracts.yaml"), "--ledger", self.ledger)
        return Proxy(
            (*COMMAND, *given, "--scope", "acme", *options, "--", *(server or self.server)),
            forked=self.forked,
        )

    def direct(self) -> "Proxy":
        """Start the scripted server alone."""
        return Proxy(self.server)


class StartedSite(Site):
    """One whose proxies are started as people start them."""

    forked = False


def started(
    command: Sequence[str], *, forked: bool, module: str = "mcp_proxy_loaded"
) -> subprocess.Popen[bytes] | Forked:
    environment = {**os.environ, "RETRY_GUARD_SECRET": ""}
    if forked:
        at = len(COMMAND) - 1
        assert tuple(command[:at]) == COMMAND[:at]
        return Forked(module, command[at:], environment)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


class Proxy:
    """A process that speaks MCP, and its client's end of the pipe."""

    module = "mcp_proxy_loaded"
    """What it is forked from."""

    def __init__(self, command: Sequence[str], *, forked: bool = False) -> None:
        self.process = started(command, forked=forked, module=self.module)
        self.raw: list[bytes] = []
        self.errors = ""
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._count = 0
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._hear, self._hear_errors)
        ]
        for thread in self._threads:
            thread.start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.raw.append(line)
            self._lines.put(line)
        self._lines.put(b"")

    def _hear_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line.decode("utf-8", "replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> int:
        """Close the input, and wait; return the exit code."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self.wait()
        finally:
            if self.process.poll() is None:
                self.process.kill()

    def wait(self) -> int:
        code = self.process.wait(LONG)
        for thread in self._threads:
            thread.join(LONG)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()
        return code

    # To say

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def ask(self, method: str, params: Json | None = None, given: Given | None = None) -> Given:
        """Send a request; return its id."""
        self._count += 1
        named = self._count if given is None else given
        self.send({"jsonrpc": "2.0", "id": named, "method": method, "params": params or {}})
        return named

    def call(
        self, tool: str, arguments: object, given: Given | None = None, **more: object
    ) -> Given:
        """Send a call of a tool; return its id."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments, **more}, given)

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def cancel(self, given: object) -> None:
        self.tell("notifications/cancelled", {"requestId": given})

    # To hear

    def asked(self, method: str) -> Json:
        """Return the next request or notification with that method."""
        return self.take(lambda m: m.get("method") == method)

    def next(self) -> dict[str, Any]:
        """Return the next message."""
        line = self._lines.get(timeout=LONG)
        assert line, f"it has ended; it said: {self.errors}"
        message: Json | list[Json] = json.loads(line)
        return message if isinstance(message, dict) else {"batch": message}

    def take(self, wanted: Callable[[Json], bool]) -> Json:
        """Return the first message that fits, and keep the others."""
        for at, message in enumerate(self._kept):
            if wanted(message):
                return self._kept.pop(at)
        while True:
            message = self.next()
            if wanted(message):
                return message
            self._kept.append(message)

    def answer(self, given: object) -> dict[str, Any]:
        """Return the answer to a request."""
        return self.take(lambda m: "id" in m and m["id"] == given and "method" not in m)

    def result(self, given: object) -> dict[str, Any]:
        """Return the result of a request."""
        answered = self.answer(given)
        result: dict[str, Any] = answered["result"]
        return result

    def called(self, tool: str, arguments: object, **more: object) -> Json:
        """Call a tool, and return its result."""
        return self.result(self.call(tool, arguments, None, **more))

    def silent(self) -> bool:
        """Whether nothing more comes before the answer to a ping."""
        given = self.ask("ping")
        self.answer(given)
        return not self._kept

    def forget(self) -> None:
        """Forget all that was said until now."""
        self.answer(self.ask("ping"))
        self._kept.clear()

    def said(self, text: str, times: int = 1) -> bool:
        """Whether standard error has that text so often, soon."""
        until = time.monotonic() + LONG
        while self.errors.count(text) < times and time.monotonic() < until:
            time.sleep(0.01)
        return self.errors.count(text) == times

    def initialize(self) -> dict[str, Any]:
        """Open a session."""
        opened = self.result(self.ask("initialize", INITIALIZE))
        self.tell("notifications/initialized")
        return opened


def turn(name: str) -> dict[str, Any]:
    """Return what Codex shows of a turn."""
    return {"x-codex-turn-metadata": {"turn_id": name, "session_id": "s"}, "callId": f"c-{name}"}


def texts(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def tools(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in result["tools"]}


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once it is so."""
    until = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < until, "it never was so"
        time.sleep(0.02)
