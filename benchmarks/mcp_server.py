"""An MCP server that does nothing, at once: what is measured is what stands before it."""

import json
import sys
from typing import Any

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "write")]
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "nothing", "version": "1"},
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return what a request gets, without its id."""
    match request["method"]:
        case "initialize":
            return {"result": HELLO}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call":
            number = request["params"]["arguments"]["number"]
            return {"result": {"content": [{"type": "text", "text": str(number)}]}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer one line after the other."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            said = {"jsonrpc": "2.0", "id": request["id"], **answer(request)}
            sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
