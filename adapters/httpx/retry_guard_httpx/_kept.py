"""Responses: what a ledger keeps of one, and what is made of that again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retry_guard_contracts import parse_json

HEADERS = frozenset(
    {
        "content-language",
        "content-location",
        "content-type",
        "etag",
        "last-modified",
        "link",
        "location",
        "operation-location",
        "request-id",
        "x-request-id",
    }
)
"""Headers that are kept. Others speak of the connection, or of who asked (`Set-Cookie`)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a response: the body without its content encoding, as text if it is."""

    status_code: int
    headers: dict[str, str]
    body: str | bytes

    def json(self) -> object:
        """Return the parsed body; raises ValueError."""
        return parse_json(self.body if isinstance(self.body, str) else self.body.decode())


def kept(response: Any, headers: frozenset[str]) -> Kept:  # noqa: ANN401 - a Response of either library
    """Return what is kept of a response that was read. `headers`: further ones, in lower case."""
    chosen = HEADERS | headers
    found = {name: value for name, value in response.headers.items() if name in chosen}
    body: bytes = response.content
    try:
        return Kept(response.status_code, found, body.decode())
    except UnicodeDecodeError:
        return Kept(response.status_code, found, body)


def parts_of(value: Any) -> tuple[int, dict[str, str], bytes]:  # noqa: ANN401 - whatever was recorded
    """Return status, headers and body for a recorded value.

    That is a kept response; or an item that a read showed, or an operator gave: its JSON, with
    status 200; or nothing, with status 204.
    """
    if isinstance(value, Kept):
        value = {"status_code": value.status_code, "headers": value.headers, "body": value.body}
    if isinstance(value, Mapping) and set(value) == {"status_code", "headers", "body"}:  # pyright: ignore[reportUnknownArgumentType] - looked at below
        body = value["body"]
        return value["status_code"], dict(value["headers"]), _bytes(body)
    match value:
        case None:
            return 204, {}, b""
        case str() | bytes():
            media = "text/plain; charset=utf-8" if isinstance(value, str) else "application/octet-stream"
            return 200, {"content-type": media}, _bytes(value)
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            return 200, {"content-type": "application/json"}, text.encode()


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body
