"""A server that states contracts of its own tools, beside a site of the scripted server."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from forked import Forked
from mcp_proxy_client import LONG, Site

STATED = "retry-guard/contract"
KEYED: dict[str, Any] = {"key": {"param": "key", "retention": 86400}}
READ_BACK: dict[str, Any] = {
    "tool": "list_charges",
    "items": "charges",
    "match": {"arguments.text": "text"},
    "id": "id",
    "unique": True,
    "visibility_lag": 0,
}
KEY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "key": {"type": "string"}},
    "required": ["text", "key"],
}
POST = {"text": "hello"}


def tool(name: str, contract: object = None, **more: object) -> dict[str, Any]:
    """A tool; `contract`: what its server states of it."""
    meta = {} if contract is None else {"_meta": {STATED: contract}}
    return {"name": name, "inputSchema": KEY_SCHEMA, **meta, **more}


def reading(**more: object) -> dict[str, Any]:
    return tool("list_charges", annotations={"readOnlyHint": True}, **more)


def lists(site: Site, *pages: list[dict[str, Any]]) -> None:
    """Let the server list these tools from now on."""
    site.put("tools.json", json.dumps(pages))


def command_of(*words: str, run: Sequence[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `retry-guard`. `run`: as this program, else in a process that has imported it."""
    if run is None:
        return Forked("mcp_proxy_loaded", words, os.environ).whole(LONG)
    return subprocess.run((*run, *words), check=False, capture_output=True, text=True, timeout=LONG)


def command(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `retry-guard` with the site's ledger."""
    return command_of(*words, "--ledger", site.ledger)


def trust(site: Site, *options: str) -> subprocess.CompletedProcess[str]:
    """Trust what the scripted server of the site states."""
    words = ("contracts", "trust", "scripted", *options, "--ledger", site.ledger, "--")
    return command_of(*words, *site.server)
