"""The tools of a toolbox as the API is told of them."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from retry_guard import UsageError
from retry_guard_anthropic._blocks import Param
from retry_guard_functions import FunctionTool, Toolbox


def tool_param(tool: FunctionTool) -> Param:
    """Return one tool's definition."""
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": dict(tool.parameters)}


def tools_for(toolbox: Toolbox, more: Any) -> list[Any]:
    """Return the toolbox's definitions and the caller's own, such as web search.

    Raises `UsageError` where one of these has the name of a tool of the toolbox.
    """
    own = [tool_param(tool) for tool in toolbox.tools.values()]
    others = list(cast("Iterable[object]", more)) if isinstance(more, Iterable) else []
    for other in others:
        name = cast("Mapping[str, Any]", other).get("name") if isinstance(other, Mapping) else None
        if name in toolbox.tools:
            raise UsageError(f"tools= has another {name!r}: the toolbox has a tool of that name")
    return own + others
