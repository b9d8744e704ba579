"""MCP servers, real ones: their answers get lost, and nothing happens twice."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from agents.mcp import MCPServer, MCPServerSse, MCPServerStdio, MCPServerStreamableHttp

from adapter_suite import C1, Call
from guards import KEYED, LISTED, PLAIN, QUICK, changed
from openai_agents_runs import agent_of, asks, note_of, outputs, plainly, told
from retry_guard import Contract
from retry_guard_contracts import Key
from retry_guard_ledgers import SQLiteLedger
from retry_guard_openai_agents import AgentGuard, unresolved_in

PROGRAM = str(Path(__file__).with_name("openai_agents_server.py"))
C2 = C1._replace(id="c2")
Kind = Literal["stdio", "sse", "http"]
IMPATIENT: dict[str, Any] = {"client_session_timeout_seconds": 2.0}
RETRYING: dict[str, Any] = {"max_retry_attempts": 2, "retry_backoff_seconds_base": 0.01}


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def server_in(folder: Path, kind: Kind, *fates: str, **options: Any) -> Generator[MCPServer]:
    """A server that is started with the run, or, for those over HTTP, before it."""
    (folder / "fates").write_text("\n".join(fates))
    given = {**IMPATIENT, **options}
    if kind == "stdio":
        command: Any = {"command": sys.executable, "args": [PROGRAM, str(folder), "stdio"]}
        yield MCPServerStdio(command, **given)
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, PROGRAM, str(folder), kind, str(number)], pass_fds=[number]
        )
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            if kind == "sse":
                yield MCPServerSse({"url": f"{url}/sse", "timeout": 60}, **given)
            else:
                yield MCPServerStreamableHttp({"url": f"{url}/mcp", "timeout": 60}, **given)
        finally:
            process.kill()
            process.wait()


def guard_in(folder: Path, server: MCPServer, *contracts: Contract, **options: Any) -> AgentGuard:
    ledger = SQLiteLedger(folder / "guard.db")
    return AgentGuard(
        ledger,
        contracts,
        mcp_servers=[server],
        scope="acme",
        turn="m1",
        policy=QUICK,
        **options,
    )


def ran(guard: AgentGuard, *messages: list[Call], **options: Any) -> Any:
    """Connect, run, and leave again."""

    async def run() -> Any:
        (server,) = guard.mcp_servers
        async with server:  # type: ignore[attr-defined] # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] - those that are used here can
            return await plainly(agent_of(guard, *(asks(*calls) for calls in messages), **options))

    return asyncio.run(run())


def read_of(result: Any, call: Call) -> Any:
    """What the model reads of a call, as data where it is JSON."""
    raw: Any = dict(outputs(result)[call.id].raw_item)["output"]
    text = raw if isinstance(raw, str) else str(raw[0]["text"])
    return json.loads(text) if text.startswith("{") else text


@pytest.mark.parametrize("kind", ["stdio", "sse", "http"])
def test_blind_retries_of_the_server_send_nothing_twice(kind: Kind, tmp_path: Path) -> None:
    """Without a guard, each lost answer is three charges."""
    with server_in(tmp_path, kind, "lost", **RETRYING) as server:
        result = ran(guard_in(tmp_path, server, PLAIN), [C1], [C2])
    for call in (C1, C2):
        assert read_of(result, call).startswith("It is not known whether `charge` took effect")
    assert len(unresolved_in(result)) == 2
    assert len(lines(tmp_path, "requests")) == len(lines(tmp_path, "effects")) == 1


def test_blind_retries_send_nothing_twice_behind_another_guard(tmp_path: Path) -> None:
    with server_in(tmp_path, "stdio", "lost", **RETRYING) as server:
        other = Contract(tool="charge_by_meta")
        (inner,) = guard_in(tmp_path, server, other).mcp_servers
        result = ran(guard_in(tmp_path, inner, PLAIN), [C1])
    assert read_of(result, C1).startswith("It is not known whether `charge` took effect")
    assert len(lines(tmp_path, "requests")) == len(lines(tmp_path, "effects")) == 1


def test_without_the_guard_each_lost_answer_is_three_charges(tmp_path: Path) -> None:
    fates = ["lost"] * 3
    with server_in(tmp_path, "stdio", *fates, client_session_timeout_seconds=1, **RETRYING) as one:
        other = Contract(tool="list_charges", effect="read")
        result = ran(guard_in(tmp_path, one, other), [C1])
    assert "Please try again" in read_of(result, C1)
    assert len(lines(tmp_path, "effects")) == 3


@pytest.mark.parametrize(
    ("tool", "param"), [("charge", "key"), ("charge_by_meta", "meta:till/key")]
)
def test_a_key_goes_in_an_argument_or_in_the_metadata(
    tool: str, param: str, tmp_path: Path
) -> None:
    keyed = changed(KEYED, tool=tool, key=Key(param=param, retention=86400.0))
    call = C1._replace(tool=tool)
    with server_in(tmp_path, "stdio", "lost", **RETRYING) as server:
        result = ran(guard_in(tmp_path, server, keyed), [call])
    assert read_of(result, call) == {"id": "ch_1"}
    first, second = lines(tmp_path, "requests")
    assert first == second
    assert len(first["key"]) == 36
    assert len(lines(tmp_path, "effects")) == 1


def test_a_read_back_goes_to_the_same_server_and_a_replay_keeps_the_form(tmp_path: Path) -> None:
    contract = changed(PLAIN, read_back=LISTED, in_flight_bound=0.05)
    both = (contract, Contract(tool="list_charges", effect="read"))
    with server_in(tmp_path, "stdio", "failed") as server:
        first = ran(guard_in(tmp_path, server, *both), [C1])
    with server_in(tmp_path, "stdio", use_structured_content=True) as server:
        second = ran(guard_in(tmp_path, server, *both), [C2])
    assert read_of(first, C1) == read_of(second, C2) == {"id": "ch_1"}
    assert note_of(second, C2)["replayed"] is True
    assert len(lines(tmp_path, "requests")) == 1


def test_a_server_that_dies_leaves_an_open_question_for_the_next(tmp_path: Path) -> None:
    with server_in(tmp_path, "stdio", "died", cache_tools_list=True, **RETRYING) as server:
        first = ran(guard_in(tmp_path, server, PLAIN, approvals=True), [C1])
    with server_in(tmp_path, "stdio") as server:
        second = ran(guard_in(tmp_path, server, PLAIN, approvals=True), [C2])
    assert told(first, C1).kind == "unresolved"
    assert [item.call_id for item in second.interruptions] == ["c2"]
    assert len(lines(tmp_path, "requests")) == 1
