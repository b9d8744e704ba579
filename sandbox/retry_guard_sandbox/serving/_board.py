"""Serving episodes to other processes of this machine: MCP over a loopback connection.

Each session has a token of its own, and whoever comes says it in a line before anything else. The
world stays here: a process that comes may be killed, or start anew, and nothing of it is lost.
"""

import json
import secrets
import socket
import socketserver
from contextlib import suppress
from threading import Lock, Thread
from typing import BinaryIO, Self, cast

from retry_guard_sandbox.serving._host import HostGoneError, Offer, Reply
from retry_guard_sandbox.serving._session import Session
from retry_guard_sandbox.serving._stdio import serve
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
    """One connection: a token, then MCP. To a token that is not known nothing is answered."""

    def handle(self) -> None:
        server = cast("_Server", self.server)
        session = server.sessions.get(self.rfile.readline(1000).decode().strip())
        if session is not None:
            incoming, outgoing = cast("BinaryIO", self.rfile), cast("BinaryIO", self.wfile)
            serve(session, incoming, outgoing)


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
    """A session that another process serves. Leaving the `with` statement leaves it."""

    def __init__(self, connection: socket.socket, token: str) -> None:
        self._file, self._lock = connection.makefile("rwb"), Lock()
        self._file.write(token.encode() + b"\n")
        self.offers = tuple(map(_offer, self._answer("tools/list", {})["tools"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.close()

    def call(self, tool: str, arguments: Json) -> Reply:
        """Call a tool there."""
        told = self._answer("tools/call", {"name": tool, "arguments": arguments})
        return Reply(told["content"][0]["text"], told["isError"])

    def _answer(self, method: str, params: Json) -> Json:
        request: Json = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
        line = json.dumps(request, allow_nan=False).encode() + b"\n"
        answer = b""
        with self._lock, suppress(OSError, ValueError):
            self._file.write(line)
            self._file.flush()
            answer = self._file.readline()
        if not answer.endswith(b"\n"):
            raise HostGoneError("the episode is over: nobody serves it any more")
        told: Json = json.loads(answer)["result"]
        return told


def _offer(shown: Json) -> Offer:
    is_read = shown["annotations"]["readOnlyHint"]
    return Offer(shown["name"], shown["description"], shown["inputSchema"], is_read)


def join(address: str, token: str) -> _Joined:
    """Return the session of that token, served at `host:port`.

    Raises `HostGoneError` where there is none.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.settimeout(None)
            # The connection lives as long as the file that is made of it.
            return _Joined(connection, token)
    except (OSError, ValueError, OverflowError) as error:
        raise HostGoneError(f"no episode is served at {address}: {error}") from error
