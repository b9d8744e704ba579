"""The arguments of a request."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from retry_guard import ArgumentError
from retry_guard_contracts import parse_json


def arguments_of(tool: str, path: dict[str, str], request: Any) -> dict[str, Any]:
    """Return what a request asks for: `path`, `query` and `body`, where it has them.

    Raises `ArgumentError` for a body that cannot be read before it is sent.
    """
    found: dict[str, Any] = {"path": path} if path else {}
    query, body, kind = request.url.query, _content(tool, request), kind_of(request)
    if query:
        found["query"] = _read(tool, "query", query, _folded)
    if body and kind not in _READERS:
        msg = f"{tool}: a body of the type {kind!r} cannot be recorded: send JSON or a form"
        raise ArgumentError(f"{msg}; nothing sent")
    if body:
        found["body"] = _read(tool, kind, body, _READERS[kind])
    return found


def kind_of(request: Any) -> str:
    """Return what its body is: `json`, `form`, or its media type."""
    if request.headers.get("content-encoding"):
        return "encoded"
    media: str = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == "application/json" or media.endswith("+json"):
        return "json"
    return "form" if media == "application/x-www-form-urlencoded" else media


def _content(tool: str, request: Any) -> bytes:
    try:
        content: bytes = request.content
    except RuntimeError:  # as both libraries say that it was not read
        msg = f"{tool}: a streamed or multipart body cannot be recorded: send JSON or a form"
        raise ArgumentError(f"{msg}; nothing sent") from None
    return content


def _read(tool: str, kind: str, text: bytes, reader: Callable[[bytes], object]) -> object:
    try:
        return reader(text)
    except ValueError as error:
        msg = f"{tool}: the {kind} cannot be read ({error}): mend it; nothing sent"
        raise ArgumentError(msg) from None


def _folded(text: bytes) -> dict[str, Any]:
    """Return the members of a query or form; a name that is there more than once has a list."""
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(text.decode(), keep_blank_values=True, errors="strict"):
        found.setdefault(name, []).append(value)
    return {name: many if len(many) > 1 else many[0] for name, many in found.items()}


_READERS: dict[str, Callable[[bytes], object]] = {
    "json": lambda body: parse_json(body.decode()),
    "form": _folded,
}
