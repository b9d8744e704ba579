"""Read-backs through the agent's own tools, or through the server that made the write."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agents import FunctionTool, RunContextWrapper
from agents.mcp import MCPServer
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext

from retry_guard import UsageError
from retry_guard_openai_agents._callers import caller_here
from retry_guard_openai_agents._failures import raising
from retry_guard_openai_agents._results import read_as_data

Read = Callable[[str, dict[str, Any]], Awaitable[Any]]


def reader_of(tools: Mapping[str, FunctionTool]) -> Read:
    """Return a read that invokes a function tool as the SDK would, in the context of the call."""

    async def read(name: str, arguments: dict[str, Any]) -> Any:
        given = json.dumps(arguments)
        context = _context(caller_here(), name, given)
        found = await invoke_function_tool(
            function_tool=raising(tools[name]), context=context, arguments=given
        )
        return read_as_data(found)

    return read


def reader_at(server: MCPServer) -> Read:
    """Return a read that calls a tool of the server."""

    async def read(name: str, arguments: dict[str, Any]) -> Any:
        return await server.call_tool(name, arguments)

    return read


def _context(caller: RunContextWrapper[Any] | None, tool: str, arguments: str) -> ToolContext[Any]:
    if caller is None:
        raise UsageError(f"{tool}: a read-back outside of a run has no context: give read=")
    own = caller if isinstance(caller, ToolContext) else None
    return ToolContext(
        context=caller.context,
        usage=caller.usage,
        tool_name=tool,
        tool_call_id="retry_guard",
        tool_arguments=arguments,
        agent=None if own is None else own.agent,
        run_config=None if own is None else own.run_config,
    )
