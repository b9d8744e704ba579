"""A third-party MCP server whose write takes a key, and the service that it writes to."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_servers_installed as installed
from mcp_servers_client import Message
from mcp_servers_sites import Site, nothing

SERVICE = Path(__file__).with_name("mcp_servers_booking_service.py")


@contextmanager
def service(folder: Path) -> Generator[None]:
    """Run the service; the file `service` says where it is, for the environment of the server."""
    command, pipe = [sys.executable, str(SERVICE), str(folder)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        (folder / "service").write_text(f"http://127.0.0.1:{port}", encoding="utf-8")
        try:
            yield
        finally:
            process.communicate(timeout=60)


def noted(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return what the service notes: `bookings.jsonl`, what it holds; `requests.jsonl`."""
    path = folder / name
    return [json.loads(one) for one in path.read_bytes().splitlines()] if path.exists() else []


def slot(_: Path, hour: int = 9) -> Message:
    """Return what a booking is asked for with."""
    day = f"2026-12-01T{hour:02}"
    return {"start": f"{day}:00:00Z", "end": f"{day}:30:00Z", "title": "Call with Ada"}


# A key, and nothing that shows a booking. Its library says that the service keeps the result of
# a key for 24 hours, and not that it compares the requests, so a caller's own key is not kept.
BOOKING = Site(
    name="booking",
    command=lambda _: [str(installed.python("older") / "agentdraft-mcp")],
    prepare=nothing,
    tool="commit_booking",
    arguments=slot,
    count=lambda folder: len(noted(folder, "bookings.jsonl")),
    contracts="""
contracts:
  - tool: commit_booking
    key: {param: idempotency_key, retention: 86400, mismatch: ignored}
""",
    told="done",
    beside=service,
)
