"""What the answer of an MCP server proves."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, cast

from retry_guard_outcomes._ends import Done, NotExecuted, Unknown
from retry_guard_outcomes._table import CODES

OF_A_RESULT = re.compile(r"output|structured|result|response", re.IGNORECASE)
"""Such a message comes after the tool ran: its result did not fit."""

BEFORE_THE_TOOL = re.compile(
    r"(MCP error -32602: )?(Input validation error: |Unknown tool: |Tool \S+ not found$)"
)
"""How the MCP libraries begin the text of a failure that they found before they called the tool."""


def of_code(code: object, message: object, origin: object) -> NotExecuted | Unknown:
    """Return what a JSON-RPC error proves."""
    if code in CODES and not OF_A_RESULT.search(str(message)):
        return NotExecuted(origin)
    return Unknown(origin)


def of_error(error: BaseException) -> NotExecuted | Unknown:
    """Return what an exception with a JSON-RPC error proves."""
    data = getattr(error, "error", error)
    return of_code(getattr(data, "code", None), getattr(data, "message", ""), error)


def of_result(result: object) -> Done | NotExecuted | Unknown:
    """Return what a tool result proves, as an object or as plain JSON."""
    failed = _member(result, "is_error", "isError")
    if not failed:
        return Done(result)
    if BEFORE_THE_TOOL.match(_text(result)):
        return NotExecuted(result)
    return Unknown(result)


def is_plain(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a plain mapping is a tool result, or a JSON-RPC response with one."""
    return isinstance(value, Mapping) and ("isError" in value or "jsonrpc" in value)


def of_mapping(value: Mapping[str, Any]) -> Done | NotExecuted | Unknown:
    """Return what a tool result or JSON-RPC response in plain JSON proves; it is the value."""
    if isinstance(value.get("error"), Mapping) and "jsonrpc" in value:
        return of_code(value["error"].get("code"), value["error"].get("message"), value)
    inner = value.get("result") if "jsonrpc" in value else value
    match of_result(inner):
        case Done():
            return Done(value)
        case NotExecuted():
            return NotExecuted(value)
        case Unknown():
            return Unknown(value)


def _member(thing: object, *names: str) -> Any:  # noqa: ANN401 - a member has any type
    if isinstance(thing, Mapping):
        plain = cast("Mapping[str, Any]", thing)
        return next((plain[name] for name in names if name in plain), None)
    return next((getattr(thing, name) for name in names if hasattr(thing, name)), None)


def _text(result: object) -> str:
    """Return the text of the only block; several blocks, or other ones, are no such failure."""
    blocks = list(cast("Iterable[object]", _member(result, "content") or ()))
    return str(_member(blocks[0], "text") or "") if len(blocks) == 1 else ""
