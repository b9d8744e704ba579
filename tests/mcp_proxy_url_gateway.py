"""A plain reverse proxy before a server, which does to requests what networks and gateways do.

`pick` says how each request goes, by its method, what it calls, and how often that has come:
`pass`; `gzip` (the answer is packed); `slow`; of those that the server never gets: `unsent` (the
connection ends), `busy` (503), `denied` (401), `bad` (502, a page), `gone` (404, and the session is
not known any more); of those that it has: `cut` (half of the answer), `reset`, `late` (the
connection ends before, and the server gets it a while later), `lost` (504, a page), `accepted`
(202), `garbage`.
"""

import gzip
import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import urlsplit

from mcp_proxy_client import LONG, Json
from mcp_proxy_works_http import Served

BEFORE = ("unsent", "busy", "denied", "bad", "gone")
AFTER = ("cut", "reset", "late", "lost", "accepted", "garbage")
HARMLESS = ("gzip", "slow")
FATES = (*BEFORE, *AFTER, *HARMLESS)
PAGE = b"<html><body>bad gateway</body></html>"
STATUSES = {"busy": 503, "denied": 401, "bad": 502, "gone": 404, "lost": 504, "accepted": 202}
_KEPT = ("content-type", "mcp-session-id")
_OWN = ("host", "content-length", "connection", "accept-encoding", "transfer-encoding")

Pick = Callable[[str, int], str]


class Gateway:
    """Listens at an address, and hands on to another. `healed`: all passes from now on."""

    def __init__(self, url: str, pick: Pick) -> None:
        self.pick, self.healed = pick, False
        self.drawn, self.gone = Counter[str](), set[str]()
        self._came, self._lock = Counter[str](), threading.Lock()
        self.host = urlsplit(url).netloc
        handler = type("Handler", (_Handler,), {"gateway": self})
        self._server = Served(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/mcp"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fate(self, message: Json) -> str:
        params: Json = message.get("params", {})
        arguments: Any = params.get("arguments", {})
        what = f"{message.get('method')} {params.get('name', '')} {arguments.get('text', '')}"
        with self._lock:
            self._came[what] += 1
            drawn = "pass" if self.healed else self.pick(what, self._came[what])
            self.drawn[drawn] += 1
        return drawn


class _Handler(BaseHTTPRequestHandler):
    """A request, and its connection, which is kept where it can be."""

    protocol_version = "HTTP/1.1"
    gateway: Gateway

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        session = self.headers.get("Mcp-Session-Id", "")
        fate = self.gateway.fate(json.loads(body))
        if fate == "gone" and session:
            self.gateway.gone.add(session)
        if session in self.gateway.gone:
            self.answer(404, b"")
        elif fate in BEFORE:
            self.end_before(fate)
        elif fate == "late":
            self.drop()
            time.sleep(0.3)
            self.forward(body)
        else:
            self.end_after(fate, body)

    def end_before(self, fate: str) -> None:
        if fate in STATUSES:
            self.answer(STATUSES[fate], PAGE, {"Content-Type": "text/html", "Retry-After": "1"})
        else:
            self.drop()

    def end_after(self, fate: str, body: bytes) -> None:
        status, head, answer = self.forward(body)
        match fate:
            case "reset":
                self.drop()
            case "lost":
                self.answer(504, PAGE, {"Content-Type": "text/html"})
            case "accepted":
                self.answer(202, b"")
            case "garbage":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
                self.drop()
            case "cut":
                self.answer(status, answer, head, most=len(answer) // 2)
                self.drop()
            case "gzip":
                self.answer(status, gzip.compress(answer), {**head, "Content-Encoding": "gzip"})
            case _:
                time.sleep(0.4 if fate == "slow" else 0)
                self.answer(status, answer, head)

    def forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Ask the server; where it ends meanwhile, say so as gateways do."""
        kept = {name: v for name, v in self.headers.items() if name.lower() not in _OWN}
        onward = http.client.HTTPConnection(self.gateway.host, timeout=LONG)
        try:
            onward.request("POST", "/mcp", body, kept)
            response = onward.getresponse()
            head = {n: v for n, v in response.getheaders() if n.lower() in _KEPT}
            return response.status, head, response.read()
        except (OSError, http.client.HTTPException):
            return 502, {"Content-Type": "text/html"}, PAGE
        finally:
            onward.close()

    def answer(
        self, status: int, body: bytes, head: Json | None = None, most: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (head or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:most])

    def drop(self) -> None:
        """End the connection at once, without a word."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self.answer(405, b"")

    do_DELETE = do_GET  # noqa: N815 - its name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """Say nothing."""
