"""Stands in for the service of bookings that the server of `mcp_servers_booking` writes to.

`python mcp_servers_booking_service.py FOLDER` prints its port, and ends with its standard input.
What is documented of the real one is that it keeps the result of a key for each agent. FOLDER
gets `bookings.jsonl`, what it holds, and `requests.jsonl`, what it was asked for with which key.

A slot takes several bookings, unless there is a file FOLDER/exclusive: then it is its first
booking's, as at the real one, and every other request for it is answered 409.

While there is a file FOLDER/break, `{"tool": NAME, "when": WHEN}`, the next booking by that tool
is made, the file is gone, and its answer is another:

- `made`: none, and the server, whose process id is in FOLDER/server, is killed
- `cut`: none, and the connection ends
- `failed`: a 500
"""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TOOLS = {"commit": "commit_booking", "hold": "create_hold"}
STATES = {"commit": "COMMITTED", "hold": "HOLD"}
writing = threading.Lock()


def read(name: str) -> list[dict[str, Any]]:
    path = FOLDER / name
    return [json.loads(one) for one in path.read_bytes().splitlines()] if path.exists() else []


def append(name: str, value: object) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def booked(agent: str, key: str | None, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Make a booking, unless the agent's key has one; return its status and body."""
    append("requests.jsonl", {"key": key, "start": asked["start"]})
    held = read("bookings.jsonl")
    for one in held:
        if key and (one["agent"], one["key"]) == (agent, key):
            return 200, one["booking"]
        if (FOLDER / "exclusive").exists() and one["start"] == asked["start"]:
            winner = one["booking"]["booking_id"]
            return 409, {"error": "outranked", "winning_booking_id": winner}
    booking = {"booking_id": f"b{len(held) + 1}", "status": STATES[asked["mode"]]}
    booking |= {name: asked[name] for name in ("title", "invitee") if name in asked}
    append("bookings.jsonl", {"agent": agent, "key": key, **asked, "booking": booking})
    return 201, booking


def fate(tool: str) -> str:
    """Return what becomes of the answer; empty: it is given."""
    file = FOLDER / "break"
    if not file.is_file():
        return ""
    wanted: dict[str, str] = json.loads(file.read_bytes())
    if wanted["tool"] != tool or wanted["when"] not in {"made", "cut", "failed"}:
        return ""
    file.unlink()
    return wanted["when"]


class Bookings(BaseHTTPRequestHandler):
    """One request for a booking."""

    def do_POST(self) -> None:
        """Answer it, unless its fate is another."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        agent, key = self.headers["Authorization"], self.headers["Idempotency-Key"]
        with writing:
            status, body = booked(agent, key, asked)
            end = fate(TOOLS[asked["mode"]])
        match end:
            case "made":
                os.kill(int((FOLDER / "server").read_text()), signal.SIGKILL)
            case "cut":
                pass
            case "failed":
                self.answer(500, {"detail": "failed after it"})
            case _:
                self.answer(status, body)

    def answer(self, status: int, body: dict[str, Any]) -> None:
        """Send a response."""
        said = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
        """Say nothing of requests."""


def main() -> None:
    """Serve until nobody is there who could stop it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bookings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
