"""Servers over HTTP for the proxy to reach: one of an SDK as a process, one that is scripted."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from mcp_proxy_client import COMMAND, CONTRACTS, LONG, Json, Proxy, Site

SERVER = str(Path(__file__).with_name("mcp_proxy_http_server.py"))


def reserved() -> socket.socket:
    """A port for one server after another: while this is open, nobody else is given it.

    Nobody listens at it, so that a connection is refused where no server runs.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class UrlSite(Site):
    """A folder with contracts and a ledger, for proxies that are given a URL."""

    url = ""

    def command(self, *options: str) -> tuple[str, ...]:
        given = ("--contracts", str(self.folder / "contracts.yaml"), "--ledger", self.ledger)
        return (*COMMAND, *given, "--scope", "acme", *options, "--url", self.url)

    def proxy(self, *options: str, server: Sequence[str] | None = None) -> Proxy:
        assert server is None
        return Proxy(self.command(*options), forked=self.forked)


class ServedSite(UrlSite):
    """The server of the SDK, which can be killed and started again at its URL."""

    def __init__(self, folder: Path, *words: str, contracts: str = CONTRACTS) -> None:
        super().__init__(folder, contracts)
        self._held = reserved()
        self.port: int = self._held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        command = (sys.executable, SERVER, str(folder), str(self.port), *words)
        pipe = subprocess.PIPE
        self._parent = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self._runs = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._parent.communicate(timeout=LONG)
        self._held.close()

    def start(self) -> None:
        """Let the server live, if it does not."""
        if self._runs:
            return
        assert self._parent.stdin is not None
        self._parent.stdin.write(b"\n")
        self._parent.stdin.flush()
        self._runs = True
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.02)
        raise AssertionError("the server did not start")

    def died(self) -> None:
        """Wait until it is dead."""
        assert self._parent.stdout is not None
        assert self._parent.stdout.readline() == b"ended\n"
        self._runs = False

    def kill(self) -> None:
        """Kill it, if it lives."""
        if self._runs:
            os.kill(self.lives[-1], signal.SIGKILL)
            self.died()

    def clean(self) -> Self:
        """Forget all that was, and begin a new life."""
        self.kill()
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "contracts.yaml":
                path.unlink()
        self.start()
        return self

    @property
    def heads(self) -> list[dict[str, str]]:
        return self._lines("heads.jsonl")


class Got(NamedTuple):
    """A request: its method and path, its headers with small letters, and the message in it."""

    http: str
    path: str
    head: dict[str, str]
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))


Step = bytes | float | str
"""What is written; seconds to wait; `reset`: the connection is reset; `close`: it is closed."""
Script = Callable[[Got], Sequence[Step]]


class RawServer:
    """Answers each request as a script says, a connection each, and then closes it."""

    def __init__(self, script: Script, host: str = "127.0.0.1") -> None:
        self.script, self.got = script, list[Got]()
        self.over, self.lost, self.asked = (threading.Event() for _ in range(3))
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        port: int = self._listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        # What wakes a thread that waits for the next connection.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._answer(connection)
            except OSError:
                self.lost.set()

    def _answer(self, connection: socket.socket) -> None:
        got = _read(connection)
        if got is not None:
            self.got.append(got)
            self.asked.set()
            for step in self.script(got):
                self._take(connection, step)

    def _take(self, connection: socket.socket, step: Step) -> None:
        if isinstance(step, bytes):
            connection.sendall(step)
        elif isinstance(step, float):
            self.over.wait(step)
        elif step == "reset":
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def heard(self) -> bool:
        """Whether a request comes soon."""
        return self.asked.wait(LONG)

    def left(self) -> bool:
        """Whether a client closes a connection soon, before it had its answer."""
        return self.lost.wait(LONG)

    def said(self, method: str) -> list[Got]:
        """Return the requests with such a message."""
        return [one for one in self.got if one.method == method]


class KeptServer(RawServer):
    """Keeps its connections, until a script ends with `close` or resets one.

    `connections`: the number of the connection on which each request came.
    """

    def __init__(self, script: Script) -> None:
        self.connections, self._count = list[int](), itertools.count()
        super().__init__(script)

    def _answer(self, connection: socket.socket) -> None:
        number = next(self._count)
        while (got := _read(connection)) is not None:
            self.got.append(got)
            self.connections.append(number)
            steps = self.script(got)
            for step in steps:
                self._take(connection, step)
            if any(isinstance(step, str) for step in steps):
                return


def _read(connection: socket.socket) -> Got | None:
    file = connection.makefile("rb")
    http, path = (*file.readline().decode().split(" "), "", "")[:2]
    lines = iter(lambda: file.readline().strip().decode(), "")
    head = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
    body = file.read(int(head.get("content-length", "0")))
    return Got(http, path, head, json.loads(body) if body else {}) if http else None


def response(body: bytes, *head: str, status: str = "200 OK", keeps: bool = False) -> bytes:
    """Return a response. `keeps`: its connection is kept."""
    ends = "Connection: keep-alive" if keeps else "Connection: close"
    lines = (f"HTTP/1.1 {status}", *head, f"Content-Length: {len(body)}", ends)
    return "\r\n".join((*lines, "", "")).encode() + body


def said(message: object, *head: str, status: str = "200 OK") -> bytes:
    """Return a response with a message as JSON."""
    return response(
        json.dumps(message).encode(), "Content-Type: application/json", *head, status=status
    )


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(message: object, given: str = "") -> bytes:
    """Return an event of a stream."""
    name = f"id: {given}\n" if given else ""
    return f"{name}event: message\ndata: {json.dumps(message)}\n\n".encode()


def result(got: Got, value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": got.message["id"], "result": value}


def done(got: Got) -> Json:
    return result(got, {"content": [{"type": "text", "text": "done"}], "isError": False})


def opened(got: Got) -> bytes:
    """Return the answer to `initialize`, with a session."""
    value = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "raw"}}
    return said(result(got, value), f"Mcp-Session-Id: s-{os.urandom(4).hex()}")


def usual(got: Got) -> Sequence[Step] | None:
    """Return how a server answers what is not of interest here; None: it is a call."""
    if got.http != "POST":
        return (response(b"", status="405 Method Not Allowed"),)
    match got.method:
        case "initialize":
            return (opened(got),)
        case "tools/call":
            return None
        case "tools/list":
            return (said(result(got, {"tools": [{"name": "charge"}]})),)
        case _ if "id" in got.message and "method" in got.message:
            return (said(result(got, {})),)
        case _:
            return (response(b"", status="202 Accepted"),)


def kept(step: bytes) -> bytes:
    """Return the same response, whose connection is kept."""
    return step.replace(b"Connection: close", b"Connection: keep-alive", 1)


def calls(script: Script) -> Script:
    """Return a script for calls of tools alone."""
    return lambda got: usual(got) or script(got)
