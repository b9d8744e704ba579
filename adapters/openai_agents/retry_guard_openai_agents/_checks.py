"""What is refused when a guard is put around an agent's tools."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agents import FunctionTool, Tool

from retry_guard import Contract, UsageError
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


def check(
    contracts: Iterable[Contract], tools: Mapping[str, Tool], *, servers: int, reads: bool
) -> None:
    """Raise `UsageError` for a contract that does not fit the tools.

    With `servers`, tools that are not there may be those of a server. `reads`: read-backs go
    another way than through the tools.
    """
    known = ", ".join(sorted(tools)) or "none"
    for contract in contracts:
        _check_twins(contract)
        tool = tools.get(contract.tool)
        if tool is not None:
            check_key(contract, _guardable(tool).params_json_schema)
            _check_preview(contract, tools.keys())
            if not reads:
                _check_read(contract, tools.keys())
        elif not servers:
            raise UsageError(f"a contract is for {contract.tool!r}, but the tools are: {known}")
        elif contract.key is not None and contract.key.param.startswith("header:"):
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


def _check_preview(contract: Contract, tools: Collection[str]) -> None:
    preview = contract.confirm.preview if contract.confirm is not None else None
    if preview is not None and preview not in tools:
        raise UsageError(f"{contract.tool} is previewed by {preview!r}: add it to tools=")


def _check_read(contract: Contract, tools: Collection[str]) -> None:
    reader = contract.read_back.tool if contract.read_back is not None else None
    if reader is not None and reader not in tools:
        msg = f"{contract.tool} is read back by {reader!r}: add it to tools=, or give read="
        raise UsageError(msg)
