"""Whatever the guard does not own passes as if there was no proxy: compared byte by byte.

Apart from ids that a server draws itself, these differ from run to run, with the proxy or without:
the time of day in `server-everything`'s dynamic resources (also inside base64), the names and
times of its tasks, the sealed state of a call that goes on, and the values of the simulated log.
"""

import base64
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mcp_servers_installed as installed
from mcp_differential_steps import ANSWERS, CAPABILITIES, EVERYTHING, MODERN, Step, played
from mcp_servers_client import STATEFUL, STATELESS, Client, Message, connected
from mcp_servers_sites import BETWEEN, proxy, variables

MODERN_SERVER = [sys.executable, str(Path(__file__).with_name("mcp_differential_server.py"))]
UNGUARDED = "contracts: []\n"
CONTRACTS = """
contracts:
  - tool: pay
    key: {param: idempotency_key, retention: 86400, format: hex}
"""
DRAWN = (
    (re.compile(rb"\d{1,2}:\d{2}:\d{2}(.[AP]M|\xe2\x80\xaf[AP]M)?"), b"TIME"),
    (re.compile(rb"\d{4}-\d{2}-\d{2}T[\w.:+-]+"), b"INSTANT"),
    (re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), b"UUID"),
    (re.compile(rb'"taskId":"[^"]+"'), b'"taskId":"DRAWN"'),
    (re.compile(rb"Task ID: \w+"), b"Task ID: DRAWN"),
    (re.compile(rb'(io.modelcontextprotocol/related-task":\{"taskId":)"[^"]+"'), rb'\1"DRAWN"'),
    (re.compile(rb'"requestState":"[^"]+"'), b'"requestState":"DRAWN"'),
    (re.compile(rb'"level":"\w+","data":"\w+[- ]level[- ]message[^"]*"'), b'"data":"DRAWN"'),
)
BLOB = re.compile(rb'"blob":"([A-Za-z0-9+/=]+)"')


def fixed(line: bytes) -> bytes:
    """Return the line without what the server draws."""
    line = BLOB.sub(lambda found: b'"blob":"' + base64.b64decode(found[1]) + b'"', line)
    for pattern, instead in DRAWN:
        line = pattern.sub(instead, line)
    return line


def heard(folder: Path) -> list[bytes]:
    """Return what the server was told, without what the proxy asks it for itself."""
    lines = [line[1:] for line in (folder / "lines").read_bytes().splitlines() if line[:1] == b">"]
    return [line for line in lines if not is_own(json.loads(line))]


def is_own(message: Message) -> bool:
    return "method" in message and isinstance(message.get("id"), str)


def run(
    steps: Sequence[Step],
    command: Sequence[str],
    folder: Path,
    generation: str,
    counts: Sequence[int] | None = None,
    contracts: str | None = None,
) -> tuple[list[list[bytes]], list[bytes]]:
    """Play all steps, direct or proxied; return what the client and what the server heard."""
    folder.mkdir()
    whole = [sys.executable, str(BETWEEN), str(folder), "--", *command]
    if contracts is not None:
        (folder / "contracts.yaml").write_text(contracts, encoding="utf-8")
        whole = proxy(folder, folder / "contracts.yaml", whole)
    environment = variables(folder.parent)
    with connected(whole, folder, environment, generation, None, ANSWERS, begun=False) as client:
        said = played(client, steps, counts)
    return said, heard(folder)


def compare(
    steps: Sequence[Step], direct: list[list[bytes]], proxied: list[list[bytes]]
) -> list[str]:
    """Return the steps in which something else was said."""
    different: list[str] = []
    for step, one, other in zip(steps, direct, proxied, strict=True):
        ours, theirs = [fixed(line) for line in one], [fixed(line) for line in other]
        if not step.in_order:
            ours.sort()
            theirs.sort()
        if ours != theirs:
            shown = [f"{line[:300]!r}" for line in (*ours, b"---", *theirs)]
            different.append("\n".join([step.name, *shown]))
    return different


def check(steps: Sequence[Step], command: Sequence[str], folder: Path, generation: str) -> None:
    said, told = run(steps, command, folder / "direct", generation)
    counts = [len(lines) for lines in said]
    again, proxied = run(steps, command, folder / "proxied", generation, counts, UNGUARDED)
    different = compare(steps, said, again)
    assert not different, "\n\n".join(different)
    assert list(map(fixed, proxied)) == list(map(fixed, told))
    assert sum(counts) >= len(steps)


def test_the_whole_surface_of_server_everything_passes_unchanged(tmp_path: Path) -> None:
    command = [*installed.node("@modelcontextprotocol/server-everything"), "stdio"]
    check(EVERYTHING, command, tmp_path, STATEFUL)


@pytest.mark.parametrize("generation", ["2025-06-18", STATEFUL, STATELESS])
def test_the_whole_surface_of_a_server_of_2026_passes_unchanged(
    generation: str, tmp_path: Path
) -> None:
    check(MODERN, MODERN_SERVER, tmp_path, generation)


def listed(client: Client) -> list[Message]:
    tools: list[Message] = client.ask("tools/list")["result"]["tools"]
    return tools


@pytest.mark.parametrize("generation", [STATEFUL, STATELESS])
def test_a_guarded_tool_differs_by_its_hidden_key_alone(generation: str, tmp_path: Path) -> None:
    (tmp_path / "contracts.yaml").write_text(CONTRACTS, encoding="utf-8")
    direct = MODERN_SERVER
    proxied = proxy(tmp_path, tmp_path / "contracts.yaml", direct)
    found: list[list[Message]] = []
    results: list[Message] = []
    for command in (direct, proxied):
        with connected(command, tmp_path, variables(tmp_path), generation, CAPABILITIES) as client:
            found.append(listed(client))
            results.append(client.call("pay", {"amount": 5}))
    for tool in found[0]:
        if tool["name"] == "pay":
            assert tool["inputSchema"]["properties"].pop("idempotency_key")
    assert found[0] == found[1]
    assert results[0] == results[1]
