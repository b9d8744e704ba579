"""What is refused when a guard is put around an agent's tools."""

from collections.abc import Iterable, Mapping
from typing import Any

from agents import FunctionTool, Tool
from agents.mcp import MCPServer

from retry_guard import (
    Answer,
    AsyncGuard,
    Contract,
    Question,
    UsageError,
    check_declared,
    check_tools,
)
from retry_guard_openai_agents._failures import raising
from retry_guard_openai_agents._keys import check_key
from retry_guard_openai_agents._sdk import is_agent, wrapped
from retry_guard_openai_agents._servers import GuardedServer
from retry_guard_openai_agents._tools import GuardedTool


def listed(name: str, given: Any) -> list[Any]:
    """Return what was given as a list. Raises `UsageError` for what is none."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"{name}: give a list, not {type(given).__name__}")
    return list[Any](given)  # pyright: ignore[reportUnknownArgumentType] - of anything


def named(tools: object) -> dict[str, Tool]:
    """Return the tools by name. Raises `UsageError` for what is none, or cannot be told apart."""
    found: dict[str, Tool] = {}
    for tool in listed("tools", tools):
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
        if reads and contract.read_back is not None:
            _check_reader(tools[contract.read_back.tool])


def check_servers(servers: object, contracts: Iterable[Contract]) -> list[MCPServer]:
    """Return the servers. Raises `UsageError` for what is none, and for one that is guarded."""
    found = listed("mcp_servers", servers)
    for server in found:
        if not isinstance(server, MCPServer):
            kind = type(server).__name__
            raise UsageError(f"mcp_servers: give servers of the SDK (MCPServer), not {kind}")
        for contract in contracts:
            if isinstance(server, GuardedServer) and server.guards(contract.tool):
                raise _guarded(contract.tool, "server")
    return found


def check_remote(contracts: Iterable[Contract], *, reads: bool) -> None:
    """Raise `UsageError` for a contract that fits no tool of an MCP server.

    `reads`: read-backs go through the server, which is not the application's own.
    """
    given = list(contracts)
    if reads:
        check_declared(given)
    for contract in given:
        _check_twins(contract)
        if contract.key is not None and contract.key.param.startswith("header:"):
            raise UsageError(f"{contract.tool}: a call of an MCP tool has no headers: use meta:")


def check_answer(question: object, answer: object) -> str:
    """Return the name of a question. Raises `UsageError` for what is none, or no answer."""
    if not isinstance(answer, Answer):
        kind = type(answer).__name__
        raise UsageError(f"answer: give an Answer, as Answer('happened'), not {kind}")
    if isinstance(question, Question):
        return question.id
    if not isinstance(question, str):
        raise UsageError(f"question: give a Question, or its id, not {type(question).__name__}")
    return question


def _guardable(tool: Tool) -> FunctionTool:
    if not isinstance(tool, FunctionTool):
        raise UsageError(f"{tool.name} is run by the SDK or the model's host, so it has no guard")
    if is_agent(tool):
        raise UsageError(f"{tool.name} runs an agent: give contracts for the tools of that agent")
    within = getattr(wrapped(tool), "__globals__", {}).get("__name__", "")
    inside = getattr(tool.on_invoke_tool, "__self__", None)
    if isinstance(inside, GuardedTool) or within == AsyncGuard.__module__:
        raise _guarded(tool.name, "tool")
    return tool


def _guarded(tool: str, kind: str) -> UsageError:
    return UsageError(
        f"{tool} is guarded already, and would wait for itself: give the {kind} itself"
    )


def _check_reader(tool: Tool) -> None:
    if not isinstance(tool, FunctionTool):
        raise UsageError(
            f"{tool.name} is run by the model's host and reads nothing back: give read="
        )
    if is_agent(tool):
        raise UsageError(f"{tool.name} runs an agent, which is no evidence: give read=")
    raising(tool)


def _check_twins(contract: Contract) -> None:
    if contract.twins == "count":
        msg = f"{contract.tool}: `twins: count` needs the other calls of a message, which the SDK"
        raise UsageError(f"{msg} does not show: give equal calls an argument that differs")
