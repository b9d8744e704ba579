"""What a message says of itself in the headers of its request, so that nobody has to read it."""

import base64
import re
from typing import Any

from retry_guard_mcp_proxy._messages import (
    Message,
    is_list,
    is_object,
    meta_of,
    object_in,
    params_of,
)
from retry_guard_mcp_proxy._session import STATELESS

VERSION, SESSION = "MCP-Protocol-Version", "Mcp-Session-Id"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods with a name of their own, and the parameter that holds it."""
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def wrapped(value: str) -> str:
    """Return a value as a header can hold it: what is no plain text is wrapped as base64."""
    if not value or (_PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


class Headers:
    """The headers of messages in the generation without sessions (2026-07-28).

    There a tool may want some of its arguments as headers too: its schema marks them. `listed`:
    the tools are known.
    """

    def __init__(self) -> None:
        """Know no tool yet."""
        self.listed = False
        self._marked: dict[str, dict[tuple[str, ...], str]] = {}

    def learn(self, response: Message) -> None:
        """Note the marks in a list of tools."""
        listed = object_in(response, "result").get("tools")
        self.listed = self.listed or is_list(listed)
        for tool in listed if is_list(listed) else []:
            if is_object(tool) and isinstance(tool.get("name"), str):
                self._marked[tool["name"]] = dict(_marks(object_in(tool, "inputSchema"), ()))

    def of(self, message: Message) -> dict[str, str]:
        """Return the headers of a message that says its version itself; none of another."""
        params, method = params_of(message), message.get("method")
        version = meta_of(params).get(STATELESS)
        if not isinstance(version, str) or not isinstance(method, str):
            return {}
        headers = {VERSION: wrapped(version), "Mcp-Method": wrapped(method)}
        name = params.get(_NAMED.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = wrapped(name)
        if method == "tools/call":
            headers |= self._of_arguments(name, object_in(params, "arguments"))
        return headers

    def _of_arguments(self, tool: object, arguments: Message) -> dict[str, str]:
        marked = self._marked.get(tool, {}) if isinstance(tool, str) else {}
        found = {f"Mcp-Param-{mark}": _text(_at(arguments, path)) for path, mark in marked.items()}
        return {name: wrapped(text) for name, text in found.items() if text is not None}


def _marks(schema: Message, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Where a schema marks arguments, at any depth of plain properties."""
    found: list[tuple[tuple[str, ...], str]] = []
    for name, inner in object_in(schema, "properties").items():
        if is_object(inner):
            mark = inner.get("x-mcp-header")
            if isinstance(mark, str) and _TOKEN.fullmatch(mark):
                found.append(((*path, name), mark))
            found += _marks(inner, (*path, name))
    return found


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if is_object(value) else None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
