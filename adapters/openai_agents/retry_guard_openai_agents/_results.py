"""How a tool's result is stored, so that a replay shows the model the same."""

import json
from collections.abc import Mapping
from typing import Any, cast

from agents import (
    FunctionTool,
    ItemHelpers,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.tool_context import ToolContext
from mcp.types import CallToolResult
from openai.types.responses import ResponseFunctionToolCall

from retry_guard_contracts import decode, encode_result

_PARTS = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)


def stored(value: Any, tool: FunctionTool, context: ToolContext[Any]) -> Any:
    """Return a result as it is kept: as it is where it comes back the same, else what is shown."""
    plain = _dumped(value)
    try:
        shown = _shown(value, tool, context)
        kept = encode_result(plain)
        same = kept is not None and _shown(decode(kept), tool, context) == shown
    except Exception:  # noqa: BLE001 - what cannot be shown is the SDK's to refuse
        return plain
    return plain if same or not isinstance(shown, str) else shown


def _dumped(value: Any) -> Any:
    """The SDK's own parts of an output as data, which it takes as well."""
    if isinstance(value, _PARTS):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        parts = [*cast("list[Any]", value)]
        if any(isinstance(part, _PARTS) for part in parts):
            return [_dumped(part) for part in parts]
    return cast("object", value)


def _shown(value: Any, tool: FunctionTool, context: ToolContext[Any]) -> Any:
    call = context.tool_call or ResponseFunctionToolCall(
        arguments="", call_id=context.tool_call_id, name=tool.name, type="function_call"
    )
    schema = tool.output_json_schema
    return ItemHelpers.tool_call_output_item(call, value, output_json_schema=schema)["output"]


def read_as_data(value: Any) -> Any:
    """Return what a read-back gave, where the SDK's own form of a text holds it."""
    return value.text if isinstance(value, ToolOutputText) else value


def stored_answer(value: Any) -> Any:
    """Return an MCP server's answer as data."""
    if isinstance(value, CallToolResult):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def answer_of(value: Any) -> CallToolResult:
    """Return a stored value in the form of an MCP server's answer."""
    if isinstance(value, CallToolResult):
        return value
    if isinstance(value, Mapping) and "isError" in value and "content" in value:
        return CallToolResult.model_validate(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    answer: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if isinstance(value, dict):
        answer["structuredContent"] = value
    return CallToolResult.model_validate(answer)


def error_of(text: str) -> CallToolResult:
    """Return a sentence as an MCP server's error."""
    return CallToolResult.model_validate(
        {"content": [{"type": "text", "text": text}], "isError": True}
    )
