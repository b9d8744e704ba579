"""A tool of a toolbox as the API is told of it."""

from typing import Any

from retry_guard_functions import FunctionTool


def tool_param(tool: FunctionTool) -> dict[str, Any]:
    """Return its definition."""
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": dict(tool.parameters)}
