"""Serving episodes to other processes of this machine: a line of JSON each way, over loopback.

Each session has a token of its own, and whoever comes says it first. The world stays here: a
process that comes is killed, or starts anew, without that anything of it is lost.
"""

import json
import secrets
import socket
import socketserver
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, Self, cast

from retry_guard_sandbox.serving._host import HostGoneError, Offer, Reply
from retry_guard_sandbox.serving._session import Session
from retry_guard_sandbox.world._http import Json


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads, block_on_close = True, False
    request_queue_size = 64

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        super().__init__(("127.0.0.1", 0), _Visit)

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever went away in the middle of a line is nobody's business."""


class _Visit(socketserver.StreamRequestHandler):
    """One connection: a token, the offers in return, then calls and replies."""

    def handle(self) -> None:
        token = self.rfile.readline().decode().strip()
        session = cast("_Server", self.server).sessions.get(token)
        if session is None:
            return
        offers = [[o.name, o.description, o.parameters, o.is_read] for o in session.offers]
        self._say({"prompt": session.prompt, "offers": offers})
        for line in self.rfile:
            asked: Json = json.loads(line)
            reply = session.call(asked["tool"], asked["arguments"])
            self._say({"text": reply.text, "is_error": reply.is_error})

    def _say(self, message: Json) -> None:
        self.wfile.write(json.dumps(message).encode() + b"\n")


class Board:
    """Where sessions are served from this process. Use it in a `with` statement."""

    def __init__(self) -> None:
        """Serve none yet."""
        self._server = _Server()
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Where to find it: `host:port`."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def add(self, session: Session) -> str:
        """Serve a session; return its token."""
        token = secrets.token_hex(16)
        self._server.sessions[token] = session
        return token

    def drop(self, token: str) -> None:
        """Serve it no longer to whoever comes new."""
        self._server.sessions.pop(token, None)


class _Joined:
    """A session of another process."""

    def __init__(self, connection: socket.socket, token: str) -> None:
        self._file = connection.makefile("rwb")
        self._lock = Lock()
        told = self._exchange(token.encode())
        self.prompt: str = told["prompt"]
        self.offers = tuple(Offer(*offer) for offer in told["offers"])

    def call(self, tool: str, arguments: Json) -> Reply:
        line = json.dumps({"tool": tool, "arguments": arguments}, allow_nan=False)
        with self._lock:
            answered = self._exchange(line.encode())
        return Reply(answered["text"], answered["is_error"])

    def _exchange(self, line: bytes) -> Any:  # noqa: ANN401 - any JSON
        answer = b""
        with suppress(OSError, ValueError):
            self._file.write(line + b"\n")
            self._file.flush()
            answer = self._file.readline()
        if not answer.endswith(b"\n"):
            raise HostGoneError("the episode is over: nobody serves it any more")
        return json.loads(answer)


def join(address: str, token: str) -> _Joined:
    """Return the session of that token, served at `host:port`.

    Raises `HostGoneError` where there is none.
    """
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host, int(port)), timeout=10)
        connection.settimeout(None)
    except (OSError, ValueError, OverflowError) as error:
        raise HostGoneError(f"no episode is served at {address}: {error}") from error
    return _Joined(connection, token)
