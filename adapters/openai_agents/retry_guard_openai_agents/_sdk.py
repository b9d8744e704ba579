"""What the SDK offers beside its front door: what a tool is, and how its calls are named."""

import copy
import inspect
import json
from typing import Any, cast

from agents import FunctionTool, RunContextWrapper, ToolApprovalItem
from agents.function_schema import function_schema
from agents.mcp._logging import (
    get_mcp_server_log_name,  # pyright: ignore[reportPrivateImportUsage] - how it names a server
)
from agents.mcp.util import MCPUtil
from agents.tool import (
    _normalize_function_tool_callable,  # pyright: ignore[reportPrivateUsage] - how it reads an object that is called
)
from agents.util._approvals import (
    evaluate_function_tool_approval,  # pyright: ignore[reportPrivateImportUsage] - no other way to keep a policy strict
)
from pydantic import BaseModel, create_model

_NAMES: Any = MCPUtil


async def wants_approval(
    tool: FunctionTool,
    context: RunContextWrapper[Any],
    arguments: dict[str, Any],
    call_id: str,
    hidden: dict[str, Any],
) -> bool:
    """Whether the tool's own policy asks for an approval, as strictly as without a guard.

    `hidden`: arguments that only its function sees.
    """
    policy = tool.needs_approval
    if isinstance(policy, bool):
        return policy

    async def asked(context: RunContextWrapper[Any], _: dict[str, Any], call_id: str) -> bool:
        return await policy(context, arguments, call_id)

    seen = copy.copy(tool)
    seen.needs_approval = asked
    given = json.dumps({**arguments, **hidden})
    found = await evaluate_function_tool_approval(seen, context, given, call_id)
    return found.outcome == "require_approval"


def names_server_tool(item: ToolApprovalItem, server: str, tool: str) -> bool:
    """Whether an approval is for this tool of this server, which the SDK can name after both."""
    known, origin = get_mcp_server_log_name(server), item.tool_origin
    if origin is not None and origin.mcp_server_name != known:
        return False
    name_of, short = _NAMES._build_prefixed_tool_base_name, _NAMES._shorten_tool_name  # noqa: SLF001 - no public way
    base, seed = name_of(known, tool), f"{known}\0{tool}"
    return item.name in (tool, short(base, seed), short(base, seed, force_hash=True))


def is_decorated(tool: FunctionTool) -> bool:
    """Whether it was made with `@function_tool`, so that the SDK reads its arguments."""
    return wrapped(tool) is not None


def blocks(tool: FunctionTool) -> bool:
    """Whether its function runs in a thread."""
    function = wrapped(tool)
    body = getattr(function, "__call__", None)  # noqa: B004 - the method itself is looked at
    awaited = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(body)
    return function is not None and not awaited


def wrapped(tool: FunctionTool) -> Any:
    """Return the function that was decorated; None where there is none."""
    try:
        return tool.__wrapped__
    except AttributeError:
        return None


def parameters(tool: FunctionTool, key: str | None) -> type[BaseModel] | None:
    """Return what the SDK reads the tool's arguments with, but for `key`; None: nothing does."""
    if not is_decorated(tool):
        return None
    function, _ = _normalize_function_tool_callable(wrapped(tool), None, tool.name, False)  # noqa: FBT003 - as the SDK has it
    read = function_schema(function, use_docstring_info=False, strict_json_schema=False)
    model = read.params_pydantic_model
    fields: dict[str, Any] = {
        name: (each.annotation, each)
        for name, each in model.model_fields.items()
        if key is None or key not in (name, each.alias)
    }
    made: type[BaseModel] = cast("Any", create_model)(
        tool.name, __config__=model.model_config, **fields
    )
    return made


def is_agent(tool: FunctionTool) -> bool:
    """Whether it runs an agent."""
    return getattr(tool, "_is_agent_tool", False)
