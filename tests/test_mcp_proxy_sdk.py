"""The MCP library's own client and server on both sides of the proxy, in each generation."""

from pathlib import Path
from typing import Literal

import mcp_types as types
import pytest
from mcp import Client

from mcp_proxy_sdk_client import effects, said, through

CONTRACTS = """\
contracts:
  - {tool: charge, key: {param: key, retention: 3600}}
  - {tool: confirmed, key: {param: key, retention: 3600}}
"""
MODES = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]
CHARGE = {"customer": "c1", "amount": 5}

Mode = Literal["auto", "legacy"]


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_a_client_of_either_generation_lists_calls_and_reads_as_without_a_proxy(
    tmp_path: Path, mode: Mode, version: str
) -> None:
    beats: list[float] = []

    async def beat(progress: float, total: float | None, message: str | None) -> None:
        beats.append(progress)

    async with Client(through(tmp_path, CONTRACTS), mode=mode) as client:
        assert client.protocol_version == version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools["charge"].input_schema["properties"]) == ["customer", "amount"]
        first = await client.call_tool("charge", CHARGE, progress_callback=beat)
        again = await client.call_tool("charge", CHARGE)
        assert (said(first), first.structured_content) == ("receipt 1", {"result": "receipt 1"})
        assert (said(again), again.structured_content) == ("receipt 1", {"result": "receipt 1"})
        assert again.meta is not None
        assert again.meta["retry-guard/outcome"]["replayed"]
        assert said(await client.call_tool("echo", {"text": "x"})) == "x"
    assert len(effects(tmp_path)) == 1
    assert beats == [0.5]


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_a_server_that_dies_after_its_effect_costs_the_client_nothing(
    tmp_path: Path, mode: Mode, version: str
) -> None:
    (tmp_path / "kill").touch()
    async with Client(through(tmp_path, CONTRACTS), mode=mode) as client:
        assert said(await client.call_tool("charge", CHARGE)) == "receipt 1"
        assert said(await client.call_tool("echo", {"text": "x"})) == "x"
    assert len(effects(tmp_path)) == 1


@pytest.mark.parametrize(("action", "expected"), [("accept", "receipt 1"), ("decline", "declined")])
async def test_a_call_for_which_the_server_wants_input_first_goes_on_with_its_own_key(
    tmp_path: Path, action: Literal["accept", "decline"], expected: str
) -> None:
    """The library binds what it asked to the arguments, so another key would be refused."""

    async def person(context: object, params: object) -> types.ElicitResult:
        return types.ElicitResult(action=action, content={} if action == "accept" else None)

    async with Client(
        through(tmp_path, CONTRACTS), mode="2026-07-28", elicitation_callback=person
    ) as client:
        result = await client.call_tool("confirmed", {"customer": "c1"})
        assert (said(result), result.is_error) == (expected, False)
    assert len(effects(tmp_path)) == (action == "accept")
