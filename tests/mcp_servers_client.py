"""A small real MCP client over pipes: one message a line, both protocol generations."""

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

Message: TypeAlias = dict[str, Any]
STATEFUL = "2025-11-25"
STATELESS = "2026-07-28"
INFO = {"name": "test", "version": "1"}


def objects_in(read: object) -> list[Message]:
    """Return the messages that a line held: one, those of a batch, or none."""
    some = cast("Sequence[Any]", read) if isinstance(read, list) else [read]
    return [one for one in some if isinstance(one, dict)]


def object_in(holder: Message, name: str) -> Message:
    """Return a member that is an object; empty where there is none."""
    found = holder.get(name)
    return cast("Message", found) if isinstance(found, dict) else {}


class EndedError(Exception):
    """The other side closed the pipe. `received`: what it had said since the last request."""


class Client:
    """One connection. `received`: every line that came, as it came.

    `answers`: how requests of the server are answered, by method; its absence is -32601.
    """

    def __init__(self, process: subprocess.Popen[bytes], generation: str = STATEFUL) -> None:
        assert process.stdin
        assert process.stdout
        self.process, self.generation = process, generation
        self.stdin: IO[bytes] = process.stdin
        self.received: list[bytes] = []
        self.answers: dict[str, Callable[[Message], object]] = {}
        self.capabilities: Message = {}
        self._number = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reading = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._lines.put(line)
        self._lines.put(b"")

    def say(self, message: Message) -> None:
        """Write one message."""
        try:
            self.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            self.stdin.flush()
        except OSError:
            raise EndedError from None

    def tell(self, method: str, params: Message | None = None) -> None:
        """Send a notification."""
        self.say({"jsonrpc": "2.0", "method": method, "params": self._with_meta(params or {})})

    def send(self, method: str, params: Message | None = None) -> int:
        """Send a request; return its id."""
        self._number += 1
        params = self._with_meta(params or {})
        self.say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def _with_meta(self, params: Message) -> Message:
        if self.generation != STATELESS:
            return params
        prefix = "io.modelcontextprotocol"
        meta = {
            f"{prefix}/protocolVersion": STATELESS,
            f"{prefix}/clientInfo": INFO,
            f"{prefix}/clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def next(self, seconds: float) -> Message:
        """Return what is said next; requests of the server are answered.

        Raises `EndedError`, and `queue.Empty` if nothing is said in that time.
        """
        line = self._lines.get(timeout=seconds)
        if not line:
            self._lines.put(b"")
            raise EndedError
        self.received.append(line)
        message: Message = json.loads(line)
        if "method" in message and "id" in message:
            self._answer(message)
        return message

    def _answer(self, message: Message) -> None:
        given = {"jsonrpc": "2.0", "id": message["id"]}
        answer = self.answers.get(message["method"])
        if answer is None:
            self.say({**given, "error": {"code": -32601, "message": "Method not found"}})
        else:
            self.say({**given, "result": answer(message.get("params", {}))})

    def answer_to(self, number: int, seconds: float = 120) -> Message:
        """Return the response to that request."""
        while True:
            message = self.next(seconds)
            if "method" not in message and message.get("id") == number:
                return message

    def ask(self, method: str, params: Message | None = None, seconds: float = 120) -> Message:
        """Send a request; return its response."""
        return self.answer_to(self.send(method, params), seconds)

    def call(self, tool: str, arguments: Message, seconds: float = 120) -> Message:
        """Call a tool; return its result."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments}, seconds)
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    def begin(self, capabilities: Message | None = None) -> Message:
        """Open the session as its generation does; return what the server says of itself."""
        self.capabilities = capabilities or {}
        if self.generation == STATELESS:
            return self.ask("server/discover")
        hello = {
            "protocolVersion": self.generation,
            "capabilities": self.capabilities,
            "clientInfo": INFO,
        }
        answer = self.ask("initialize", hello)
        self.tell("notifications/initialized")
        return answer

    def end(self) -> None:
        """Close the connection, and end the process if it does not end by itself."""
        with suppress(OSError):
            self.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reading.join(60)
        if self.process.stdout:
            self.process.stdout.close()


@contextmanager
def connected(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    generation: str = STATEFUL,
    capabilities: Message | None = None,
    answers: Mapping[str, Callable[[Message], object]] | None = None,
    *,
    begun: bool = True,
) -> Generator[Client]:
    """Start a server, open a session with it, and end it afterwards; stderr goes to a file.

    `begun`: whether the session is opened, or left to the caller.
    """
    with (folder / "stderr").open("ab") as errors:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=errors, cwd=folder, env=dict(environment)
        )
        client = Client(process, generation)
        client.answers.update(answers or {})
        try:
            if begun:
                client.begin(capabilities)
            yield client
        finally:
            client.end()
