"""What is refused when a guard is put around an agent's tools."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents import FunctionTool, Tool

from retry_guard import Contract, UsageError, check_tools
from retry_guard_openai_agents._keys import check_key


def named(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Return the tools by name. Raises `UsageError` for what is none, or cannot be told apart."""
    found: dict[str, Tool] = {}
    for tool in tools:
        name: Any = getattr(tool, "name", None)
        if not isinstance(name, str):
            kind = type(tool).__name__
            raise UsageError(f"tools: give tools of the SDK, not {kind}: use @function_tool")
        if name in found:
            raise UsageError(f"tools: two are named {name!r}: give them different names")
        found[name] = tool
    return found


def check(contracts: Iterable[Contract], tools: Mapping[str, Tool], *, reads: bool) -> None:
    """Raise `UsageError` for a contract of a guard that does not fit the function tools.

    `reads`: read-backs go through the tools.
    """
    given = list(contracts)
    for contract in given:
        _check_twins(contract)
    check_tools(given, tools.keys(), reads=reads)
    for contract in given:
        check_key(contract, _guardable(tools[contract.tool]).params_json_schema)


def check_remote(contracts: Iterable[Contract]) -> None:
    """Raise `UsageError` for a contract that fits no tool of an MCP server."""
    for contract in contracts:
        _check_twins(contract)
        if contract.key is not None and contract.key.param.startswith("header:"):
            raise UsageError(f"{contract.tool}: a call of an MCP tool has no headers: use meta:")


def _guardable(tool: Tool) -> FunctionTool:
    if not isinstance(tool, FunctionTool):
        raise UsageError(f"{tool.name} is run by the SDK or the model's host, so it has no guard")
    if getattr(tool, "_is_agent_tool", False):
        raise UsageError(f"{tool.name} runs an agent: give contracts for the tools of that agent")
    return tool


def _check_twins(contract: Contract) -> None:
    if contract.twins == "count":
        msg = f"{contract.tool}: `twins: count` needs the other calls of a message, which the SDK"
        raise UsageError(f"{msg} does not show: give equal calls an argument that differs")
