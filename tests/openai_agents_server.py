"""A real MCP server whose answers get lost: `openai_agents_server.py FOLDER stdio|sse|http [FD]`.

Its tools are `charge`, which takes a key as an argument, `charge_by_meta`, which takes it in the
metadata of the call, and `list_charges`. `FOLDER/fates` holds how the next charges end, one a line.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

FOLDER = Path(sys.argv[1])
server = MCPServer("till")


def effects() -> list[dict[str, Any]]:
    path = FOLDER / "effects.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def note(name: str, line: dict[str, Any]) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(json.dumps(line) + "\n")


def fate() -> str:
    path = FOLDER / "fates"
    first, *rest = [*path.read_text().split(), "ok"] if path.exists() else ["ok"]
    path.write_text("\n".join(rest))
    return first


async def charged(tool: str, customer: str, amount: int, key: str) -> dict[str, Any]:
    note("requests.jsonl", {"tool": tool, "key": key})
    known = [each for each in effects() if key and each["key"] == key]
    name = known[0]["id"] if known else f"ch_{len(effects()) + 1}"
    if not known:
        line = {"id": name, "customer": customer, "amount": amount, "key": key}
        note("effects.jsonl", {**line, "created": time.time()})
    match fate():
        case "lost":
            await asyncio.sleep(60)
        case "died":
            os._exit(9)
        case "failed":
            raise RuntimeError("500")
        case _:
            pass
    return {"id": name}


@server.tool()
async def charge(customer: str, amount: int, key: str = "") -> dict[str, Any]:
    """Charge a customer."""
    return await charged("charge", customer, amount, key)


@server.tool()
async def charge_by_meta(customer: str, amount: int, context: Context) -> dict[str, Any]:
    """Charge a customer."""
    meta: Any = context.request_context.meta
    key: str = meta["till/key"] if meta else ""
    return await charged("charge_by_meta", customer, amount, key)


@server.tool()
async def list_charges() -> dict[str, Any]:
    """List the charges."""
    return {"charges": effects(), "complete": True}


if __name__ == "__main__":
    match sys.argv[2]:
        case "stdio":
            server.run("stdio")
        case "sse":
            uvicorn.run(server.sse_app(), fd=int(sys.argv[3]), log_level="error")
        case _:
            uvicorn.run(server.streamable_http_app(), fd=int(sys.argv[3]), log_level="error")
