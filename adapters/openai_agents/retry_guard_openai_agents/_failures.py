"""What becomes of a tool's errors: the SDK makes texts of them, and some invite a repeat."""

import copy
import inspect
from typing import Any

from agents import FunctionTool, RunContextWrapper, ToolTimeoutError
from agents.tool import (
    _DEFAULT_FAILURE_HANDLED_ATTR,  # pyright: ignore[reportPrivateUsage] - the SDK's own mark of an error
    default_tool_error_function,
    default_tool_timeout_error_message,
    maybe_invoke_function_tool_failure_error_function,
    resolve_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext

from retry_guard import GuardError, UsageError


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


def without_invitation(tool: FunctionTool) -> FunctionTool:
    """Return an agent as a tool that fails without the SDK's text, which invites a repeat."""
    told = resolve_function_tool_failure_error_function(tool)
    plain = copy.copy(tool)
    usual = told is None or told is default_tool_error_function
    set_function_tool_failure_error_function(plain, None if usual else for_the_model(told))
    return plain


def for_the_model(told: Any) -> Any:
    """Return the text for an error, but that of a guard that cannot work, which is raised.

    It is the application's business, and not the model's.
    """

    def text(context: RunContextWrapper[Any], error: Exception) -> Any:
        one: BaseException | None = error
        while one is not None:
            if isinstance(one, GuardError):
                raise one
            one = one.__cause__
        return told(context, error)

    return text


def not_a_result(tool: FunctionTool, context: ToolContext[Any]) -> None:
    """Keep a sentence for the model from being held against the schema of the tool's results."""
    if tool.output_json_schema is not None:
        setattr(context, _DEFAULT_FAILURE_HANDLED_ATTR, True)
