"""One view of results, whatever they come in: JSON text, mappings, models, MCP, HTTP responses."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, cast

from retry_guard_contracts._arguments import parse_json
from retry_guard_contracts._paths import members


class FailedReadError(ValueError):
    """The result says of itself that the call failed."""


def document(result: object) -> object:
    """Return what paths lead into.

    JSON text is parsed. Of an MCP result it is the structured content, else the JSON of its
    text, or a list where there are several texts. Of an HTTP response (`status_code` or `status`,
    and a `json` method) it is the body. Everything else is taken as it is.

    Raises:
        FailedReadError: a result that says so itself (`isError`, `error`, `errors`, `timed_out`),
            or a response with a status above 299.
        ValueError: text that is not JSON.
    """
    if isinstance(result, bytes):
        result = result.decode()
    if isinstance(result, str):
        parsed = parse_json(result)
        return _unless_failed(parsed, members(parsed) or {})
    held = members(result)
    if held is not None and not _is_response(result):
        return _of_mcp(held) if _is_mcp(held) else _unless_failed(result, held)
    read = getattr(result, "json", None)
    status = getattr(result, "status_code", getattr(result, "status", None))
    return _of_http(read, status) if callable(read) and type(status) is int else result


def _is_response(result: object) -> bool:
    """Whether a dataclass is an HTTP response: what a ledger keeps of one."""
    return is_dataclass(result) and hasattr(result, "status_code") and hasattr(result, "json")


def _unless_failed(result: object, held: Mapping[object, object]) -> object:
    """Return the result, unless it says of itself that the read failed."""
    if _either(held, "isError", "is_error", "error", "errors", "timed_out"):
        raise FailedReadError("the result reports an error")
    return result


def _is_mcp(held: Mapping[object, object]) -> bool:
    blocks = held.get("content")
    return isinstance(blocks, list) and all(
        "type" in (members(block) or {}) for block in cast("list[object]", blocks)
    )


def _either(held: Mapping[object, object], *names: str) -> object:
    return next((held[name] for name in names if held.get(name)), None)


def _of_mcp(held: Mapping[object, object]) -> object:
    if _either(held, "isError", "is_error"):
        raise FailedReadError("the tool reports an error")
    for name in ("structuredContent", "structured_content"):
        structured = held.get(name)
        if structured is not None:
            return _unless_failed(structured, members(structured) or {})
    blocks = [members(block) or {} for block in cast("list[object]", held["content"])]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    parsed = [parse_json(cast("str", text)) for text in texts]
    if not parsed:
        raise ValueError("the result holds no text")
    return parsed[0] if len(parsed) == 1 else parsed


def _of_http(read: Any, status: int) -> object:  # noqa: ANN401 - some client's method
    if not 200 <= status <= 299:  # noqa: PLR2004 - a status code is its own name
        raise FailedReadError(f"the read was answered with status {status}")
    body = read()
    return _unless_failed(body, members(body) or {})
