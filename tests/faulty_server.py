"""A real HTTP server that commits effects to its own file and then misbehaves as it is told.

Run as a program: `python faulty_server.py FOLDER LISTENING_FD`. It knows nothing of the guard.

FOLDER/effects.jsonl   what really happened: one line per effect, on disk before any answer
FOLDER/requests.jsonl  every request that arrived, before anything was done about it
FOLDER/plan.json       for each reference the fault of its first, second, … request
FOLDER/release         requests that are held go on when this is there

POST /charges              takes an Idempotency-Key header or an `idempotency_key` in the body
GET /charges?reference=R   a list that is complete and never late
POST /notes                no key, no read
"""

import json
import os
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

CRASHED = 23
"""Exit code of a server that was told to crash."""

HOLD = 20.0
"""Seconds after which nothing is held any more, so that no test can hang."""

Answer = tuple[int, dict[str, Any]]
IN_USE: Answer = (409, {"error": {"code": "idempotency_key_in_use"}})
REUSED: Answer = (422, {"error": {"type": "idempotency_error"}})


class Books:
    """What the server knows. Everything that counts is read back from the file after a crash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.running: set[str] = set()
        self.failed: dict[str, Answer] = {}

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def append(self, name: str, line: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def fault(self, method: str, path: str, body: dict[str, Any]) -> tuple[str, float]:
        """Note the request; return its fault, and seconds where the fault takes some."""
        reference = str(body.get("reference"))
        line = {"method": method, "path": path, "reference": reference, "at": time.time()}
        with self.lock:
            earlier = [
                r
                for r in self.lines("requests.jsonl")
                if (r["reference"], r["method"]) == (reference, method)
            ]
            self.append("requests.jsonl", line)
        plan = json.loads((self.folder / "plan.json").read_text())
        name = reference if method == "POST" else f"{method} {reference}"
        faults = plan.get(name, ["ok"])
        fault, _, seconds = str((faults[len(earlier) :] or ["ok"])[0]).partition(":")
        return fault, float(seconds or 0)

    def known(self, key: str | None, path: str, body: dict[str, Any]) -> Answer | None:
        """What a key says: an answer to give at once, or None and the key is taken."""
        if key is None:
            return None
        with self.lock:
            if key in self.failed:
                return self.failed[key]
            for effect in self.lines("effects.jsonl"):
                if effect["key"] == key:
                    same = (effect["path"], effect["body"]) == (path, body)
                    return (201, effect["charge"]) if same else REUSED
            if key in self.running:
                return IN_USE
            self.running.add(key)
        return None

    def commit(self, key: str | None, path: str, body: dict[str, Any]) -> Answer:
        with self.lock:
            number = len(self.lines("effects.jsonl")) + 1
            charge = {"id": f"ch_{number}", **body, "created": time.time()}
            line = {"path": path, "key": key, "body": body, "charge": charge}
            self.append("effects.jsonl", line)
            self.running.discard(key or "")
        return 201, charge

    def fail(self, key: str | None) -> Answer:
        """Answer 500; with a key, from now on."""
        answer: Answer = (500, {"error": "internal"})
        if key is not None:
            self.failed[key] = answer
        return answer

    def charges(self, reference: str) -> Answer:
        found = [line["charge"] for line in self.lines("effects.jsonl")]
        data = [charge for charge in found if charge.get("reference") == reference]
        return 200, {"data": data, "has_more": False}

    def hold(self) -> None:
        deadline = time.monotonic() + HOLD
        while not (self.folder / "release").exists() and time.monotonic() < deadline:
            time.sleep(0.005)


class Handler(BaseHTTPRequestHandler):
    books: ClassVar[Books]

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        reference = parse_qs(asked.query).get("reference", [""])[0]
        fault, _ = self.books.fault("GET", asked.path, {"reference": reference})
        self.answer((429, {}) if fault == "429" else self.books.charges(reference))

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        in_body = body.pop("idempotency_key", None)
        key = None if self.path == "/notes" else self.headers.get("Idempotency-Key") or in_body
        fault, seconds = self.books.fault("POST", self.path, body)
        before = getattr(self, f"before_{fault}", None)
        if before is not None and before():
            return
        known = self.books.known(key, self.path, body)
        if known is None:
            known = self.effect(fault, seconds, key, body)
        after = getattr(self, f"after_{fault}", None)
        if after is None or not after():
            self.answer(known)

    def effect(self, fault: str, seconds: float, key: str | None, body: dict[str, Any]) -> Answer:
        if fault == "late_commit":
            self.gone()
            time.sleep(seconds)
        answer = self.books.commit(key, self.path, body)
        if fault == "redelivery" and self.books.known(key, self.path, body) is None:
            self.books.commit(key, self.path, body)
        return self.books.fail(key) if fault == "error_stored" else answer

    # Faults before anything is done; true: that was all.

    def before_lost_request(self) -> bool:
        return self.gone()

    def before_reset_before(self) -> bool:
        return self.reset()

    def before_error_before(self) -> bool:
        return self.answer((500, {"error": "internal"}))

    def before_409_in_progress(self) -> bool:
        return self.answer(IN_USE)

    def before_429(self) -> bool:
        return self.answer((429, {"error": "slow down"}))

    def before_hold_before(self) -> bool:
        self.books.hold()
        return False

    # Faults after it was done; true: no answer is due.

    def after_lost_ack(self) -> bool:
        return self.reset()

    def after_timeout_after(self) -> bool:
        return self.gone()

    def after_late_commit(self) -> bool:
        return True

    def after_redelivery(self) -> bool:
        return self.gone()

    def after_error_after(self) -> bool:
        return self.answer((500, {"error": "internal"}))

    def after_hold_after(self) -> bool:
        self.books.hold()
        return False

    def after_202(self) -> bool:
        return self.answer((202, {"status": "accepted"}))

    def after_crash(self) -> bool:
        os._exit(CRASHED)

    def answer(self, answer: Answer) -> bool:
        status, body = answer
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return True

    def gone(self) -> bool:
        """Answer nothing until the client has hung up."""
        self.connection.settimeout(HOLD)
        with suppress(OSError):
            self.connection.recv(1)
        self.close_connection = True
        return True

    def reset(self) -> bool:
        """Close with a RST, at once."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True
        return True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has hung up is no news."""


def main(folder: str, descriptor: str) -> None:
    Handler.books = Books(Path(folder))
    server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=int(descriptor))
    server.server_address = server.socket.getsockname()
    server.server_name, server.server_port = "127.0.0.1", server.server_address[1]
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
