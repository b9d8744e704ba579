"""The school of `confirm_school`, over HTTP on the loopback, on the real clock."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from confirm_school import School, TokenRefusedError
from guards import HandClock
from retry_guard import Contract


class WallClock(HandClock):
    """Real time, which nobody moves."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - as the clock's
        return time.time() if name == "at" else super().__getattribute__(name)


@dataclass
class HTTPSchool:
    """A server. `mute`: how many of the next rooms are made without an answer."""

    url: str
    school: School
    mute: int = 0
    made: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, given: dict[str, Any], key: str | None) -> tuple[int, object]:
        """Status and body; one request at a time."""
        with self.lock:
            if path == "/exam-rooms/preview" or "confirm_token" not in given:
                return 200, self.school.preview(given, {})
            try:
                room = self.school.create({**given, **({"key": key} if key else {})}, {})
            except TokenRefusedError as error:
                return 422, {"error": str(error)}
            self.mute, muted = self.mute - 1, self.mute > 0
        self.made.set()
        if muted:
            self.over.wait(30)
        return 201, room

    def contract(self, *, one: bool = False, **stated: Any) -> Contract:  # noqa: ANN401 - handed on
        rule = {"token": "confirm_token", "param": "body.confirm_token", "expires": 300}
        rule |= {} if one else {"preview": f"POST {self.url}/exam-rooms/preview"}
        return Contract(
            tool=f"POST {self.url}/exam-rooms",
            identity={"body.room": "fold", "body.starts": "time"},
            defaults={"body.capacity": 30},
            confirm=rule,
            **stated,
        )


def _handler(site: HTTPSchool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers.get("Idempotency-Key")
            self._say(*site.answer(self.path, given, key))

        def do_GET(self) -> None:
            rooms = [{"id": r["id"], "room": r["room"]} for r in site.school.rooms]
            self._say(200, {"rooms": rooms, "complete": True})

        def _say(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the client is dead
                self.close_connection = True

    return Handler


@contextmanager
def http_school() -> Generator[HTTPSchool]:
    """A server until the end of the block."""
    site = HTTPSchool("", School(WallClock()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
