"""The works as a program over HTTP, in both generations.

It is given a folder, prints its port, and is started again at the same one whenever it dies, until
its input ends. `heard.jsonl` gets each message, and `hung_up` for an answer that its client had
stopped waiting for.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, NoReturn

from mcp_proxy_works import Dropped, Json, Refused, Works
from mcp_proxy_works_server import handled


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


def serve(works: Works) -> NoReturn:
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


def main(words: Sequence[str]) -> NoReturn:
    """Serve what is in that folder."""
    serve(Works(Path(words[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
