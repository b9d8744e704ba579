"""Responses: what a ledger keeps of one, and what is made of that again."""

import json
from dataclasses import dataclass
from typing import Any, cast

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

_FIELDS = {"status_code", "headers", "body"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a response: the body without its content encoding, as text if it is."""

    status_code: int
    headers: dict[str, str]
    body: str | bytes

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        return self.body.encode() if isinstance(self.body, str) else self.body

    def json(self) -> object:
        """Return the parsed body; raises ValueError."""
        return parse_json(self.content.decode())


def kept(response: Any, headers: frozenset[str]) -> Kept:
    """Return what is kept of a response that was read. `headers`: further ones, in lower case."""
    chosen = HEADERS | headers
    found = {name: value for name, value in response.headers.items() if name in chosen}
    body: bytes = response.content
    try:
        return Kept(response.status_code, found, body.decode())
    except UnicodeDecodeError:
        return Kept(response.status_code, found, body)


def recorded(value: object) -> Kept:
    """Return the response that a recorded value is.

    That is a kept response; or an item that a read showed or an operator gave: its JSON, with
    status 200; or, where no result is known, status 204.
    """
    match value:
        case Kept():
            return value
        case dict() if (held := cast("dict[str, Any]", value)).keys() == _FIELDS:
            return Kept(**held)
        case None:
            return Kept(204, {}, "")
        case str():
            return Kept(200, {"content-type": "text/plain; charset=utf-8"}, value)
        case bytes():
            return Kept(200, {"content-type": "application/octet-stream"}, value)
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            return Kept(200, {"content-type": "application/json"}, text)
