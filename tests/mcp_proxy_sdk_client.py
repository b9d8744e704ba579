"""The MCP library's own client in front of the proxy, and its own server behind it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import StdioServerParameters

from mcp_proxy_client import COMMAND

SERVER = str(Path(__file__).with_name("mcp_proxy_sdk_server.py"))


def through(folder: Path, contracts: str, *options: str) -> StdioServerParameters:
    """Return the proxy with these contracts, with the server behind it."""
    file = folder / "contracts.yaml"
    file.write_text(contracts, encoding="utf-8")
    given = ("--contracts", str(file), "--ledger", f"sqlite:///{folder / 'guard.db'}", *options)
    args = [*COMMAND[1:], *given, "--", sys.executable, SERVER, str(folder)]
    return StdioServerParameters(command=COMMAND[0], args=args, env=dict(os.environ))


def effects(folder: Path) -> list[dict[str, Any]]:
    path = folder / "effects.jsonl"
    return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []


def said(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text
