"""What the SDK offers beside its front door: how a tool is run, and what becomes of its errors."""

import copy
import inspect
import json
from typing import Any

from agents import FunctionTool, RunContextWrapper, ToolTimeoutError
from agents.tool import (
    _DEFAULT_FAILURE_HANDLED_ATTR,  # pyright: ignore[reportPrivateUsage] - the SDK's own mark of an error
    default_tool_timeout_error_message,
    maybe_invoke_function_tool_failure_error_function,
    resolve_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext
from agents.util._approvals import (
    evaluate_function_tool_approval,  # pyright: ignore[reportPrivateImportUsage] - no other way to keep a policy strict
)

from retry_guard import UsageError


def raising(tool: FunctionTool) -> FunctionTool:
    """Return a copy that raises what happened, where the tool would make a text for the model.

    Raises `UsageError` where that cannot be switched off.
    """
    once = copy.copy(tool)
    no_failure_text(once)
    once.timeout_behavior = "raise_exception"
    if resolve_function_tool_failure_error_function(once) is not None:
        raise UsageError(f"{tool.name} hides its errors: make it with failure_error_function=None")
    return once


def no_failure_text(tool: FunctionTool) -> None:
    """Let nothing but the tool's own invocation make a text of an error."""
    set_function_tool_failure_error_function(tool, None)


async def shown(tool: FunctionTool, context: ToolContext[Any], error: Exception) -> Any:
    """Return what the tool makes of its error for the model. Raises the error where it does so."""
    if isinstance(error, ToolTimeoutError) and tool.timeout_seconds is not None:
        return await _timed_out(tool, context, error)
    text = await maybe_invoke_function_tool_failure_error_function(
        function_tool=tool, context=context, error=error
    )
    if text is None:
        raise error
    return text


async def _timed_out(tool: FunctionTool, context: ToolContext[Any], error: ToolTimeoutError) -> Any:
    if tool.timeout_behavior == "raise_exception":
        raise error
    if tool.timeout_error_function is None:
        return default_tool_timeout_error_message(
            tool_name=tool.name, timeout_seconds=error.timeout_seconds
        )
    text = tool.timeout_error_function(context, error)
    return await text if inspect.isawaitable(text) else text


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


def not_a_result(tool: FunctionTool, context: ToolContext[Any]) -> None:
    """Keep a sentence for the model from being held against the schema of the tool's results."""
    if tool.output_json_schema is not None:
        setattr(context, _DEFAULT_FAILURE_HANDLED_ATTR, True)
