"""The works as a program: on standard input, or over HTTP, in both generations.

With a folder, it speaks on its standard input and output. With a folder and `http` it prints its
port; it is started again at the same one whenever it dies, until its input ends. `heard.jsonl`
gets each message, and `hung_up` for an answer that its client had stopped waiting for.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from mcp_proxy_works import TOOLS, Dropped, Json, Refused, Works, answered

VERSION = "io.modelcontextprotocol/protocolVersion"
Say = Callable[[Json], None]


def handled(works: Works, message: Json, headers: Json, say: Say) -> Json | None:
    """Return the response to a message, if it wants one. Raises `Dropped`, `Refused`."""
    works.append("heard.jsonl", message)
    if "id" not in message or "method" not in message:
        return None
    params: Json = message.get("params", {})
    meta: Json = params.get("_meta", {})
    beats = message["method"] == "tools/call" and "progressToken" in meta

    def beat(progress: int) -> None:
        if beats:
            made = {"progressToken": meta["progressToken"], "progress": progress}
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": made})

    beat(1)
    response = answered(message, lambda: result_of(works, message["method"], params, headers))
    beat(2)
    if VERSION in meta and "result" in response:
        response["result"].setdefault("resultType", "complete")
    return response


def result_of(works: Works, method: str, params: Json, headers: Json) -> Json:
    able: Json = {"capabilities": {"tools": {}}}
    match method:
        case "initialize":
            named = {"name": "works", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "serverInfo": named, **able}
        case "server/discover":
            return {"supportedVersions": ["2026-07-28"], **able}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return works.call(params, headers)
        case "ping":
            return {}
        case _:
            raise Refused(-32601, "there is no such method")


# On standard input and output


def speak(works: Works) -> None:
    lock = threading.Lock()

    def say(message: Json) -> None:
        with lock:
            os.write(1, json.dumps(message).encode() + b"\n")

    def hear(message: Json) -> None:
        with contextlib.suppress(Dropped):
            response = handled(works, message, {}, say)
            if response is not None:
                say(response)

    for line in sys.stdin.buffer:
        message: Any = json.loads(line)
        if message.get("method") == "tools/call":
            threading.Thread(target=hear, args=(message,), daemon=True).start()
        else:
            hear(message)


# Over HTTP


class Handler(BaseHTTPRequestHandler):
    """A request. `works`, `sessions`: of this life. `streams`: its answer is a stream."""

    works: Works
    sessions: ClassVar[set[str]] = set()
    streams = False

    def do_POST(self) -> None:
        message: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        heads = {name.lower(): value for name, value in self.headers.items()}
        session, opens = heads.get("mcp-session-id"), message.get("method") == "initialize"
        if session not in self.sessions and "mcp-method" not in heads and not opens:
            self.say_status(404)
            return
        try:
            response = handled(self.works, message, heads, self.say)
        except Dropped:
            return
        except Refused as error:
            self.say_status(error.code)
            return
        if response is None:
            self.say_status(202)
        else:
            self.finish_with(response, new=f"s{os.urandom(4).hex()}" if opens else None)

    def finish_with(self, response: Json, new: str | None) -> None:
        if self.left():
            self.works.append("heard.jsonl", "hung_up")
        if self.streams:
            self.say(response)
            return
        self.sessions.update({new} if new else ())
        self.say_status(200, json.dumps(response).encode(), {"Mcp-Session-Id": new or ""})

    def left(self) -> bool:
        ready, _, _ = select.select([self.connection], [], [], 0)
        return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def say(self, message: Json) -> None:
        """Say something in a stream, which begins with it."""
        if not self.streams:
            self.streams = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
        self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def say_status(self, status: int, body: bytes = b"", more: Json | None = None) -> None:
        self.send_response(status)
        for name, value in (more or {}).items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.say_status(405)

    do_DELETE = do_GET  # noqa: N815 - its name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """Say nothing."""


class Served(ThreadingHTTPServer):
    """A server at a socket that outlives it."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked is gone."""


def serve(works: Works) -> None:
    """Live one life after another at one port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    lock, lives = threading.Lock(), list[int]()

    def end() -> None:
        while os.read(0, 1):
            pass
        with lock:
            os.kill(lives[-1], signal.SIGKILL)
            os._exit(0)

    while True:
        with lock:
            if lives:
                os.waitpid(lives[-1], 0)
            child = os.fork()
            if not child:
                life(works, listener)
            lives.append(child)
        if len(lives) == 1:
            threading.Thread(target=end, daemon=True).start()
        # Not reaped before the lock is had: no other process gets its number in between.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)


def life(works: Works, listener: socket.socket) -> None:
    works.append("lives.txt", os.getpid())
    Handler.works = works
    server = Served(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.serve_forever(0.05)


if __name__ == "__main__":
    given = Works(Path(sys.argv[1]))
    if "http" in sys.argv:
        serve(given)
    else:
        given.append("lives.txt", os.getpid())
        speak(given)
