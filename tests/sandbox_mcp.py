"""Speaking MCP to a served session, line by line, as a client does."""

import io
import json
from collections.abc import Sequence
from typing import Any

from retry_guard_sandbox import evaluation, serving
from retry_guard_sandbox.serving import Session

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
STATELESS = {"_meta": META}


def session(**chosen: Any) -> Session:  # noqa: ANN401 - the names of a spec
    """Return an episode that nobody has begun."""
    return Session(evaluation.episode(**chosen))


def request(method: str, params: object = None, name: object = 1) -> dict[str, Any]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": name, "method": method, "params": params or {}}


def call(tool: str, arguments: object, name: object = 1) -> dict[str, Any]:
    """Return a request that calls a tool."""
    return request("tools/call", {"name": tool, "arguments": arguments}, name)


def answers(served: Session, lines: Sequence[object]) -> list[dict[str, Any]]:
    """Return what is answered to these lines: bytes as they are, all else as JSON."""
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    outgoing = io.BytesIO()
    serving.serve(served, io.BytesIO(b"".join(line + b"\n" for line in raw)), outgoing)
    return [json.loads(line) for line in outgoing.getvalue().splitlines()]
