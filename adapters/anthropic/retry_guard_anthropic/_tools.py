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

    Raises `UsageError` for what is no definition, and for a name that the toolbox has as well.
    """
    if isinstance(more, str | Mapping) or not isinstance(more, Iterable):
        raise UsageError("tools= takes a list of definitions, such as web search")
    others = list(cast("Iterable[object]", more))
    for other in others:
        if not isinstance(other, Mapping):
            msg = f"tools= takes definitions, not {other!r:.40}: give functions to the toolbox"
            raise UsageError(msg)
        name = cast("Mapping[str, Any]", other).get("name")
        if name in toolbox.tools:
            raise UsageError(f"tools= has another {name!r}: the toolbox has a tool of that name")
    return [tool_param(tool) for tool in toolbox.tools.values()] + others
