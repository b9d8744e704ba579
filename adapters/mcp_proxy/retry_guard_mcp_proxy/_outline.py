"""Lines that are JSON and yet cannot be held as it: what they say of themselves, at the top."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from retry_guard_mcp_proxy._messages import (
    BeyondError,
    Message,
    UnreadableError,
    is_object,
    read_odd,
)

LONGEST = 8 << 20
"""Bytes of a line that is looked at; that takes a second or two at worst."""
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_NEAR = re.compile(rb"\s*(" + _TEXT + rb"|[\[\]{}:,]|[^\s\[\]{}:,\"]+)\s*", re.DOTALL)
_DEEP = re.compile(rb"[^\"\[\]{}]*(" + _TEXT + rb"|[\[\]{}])", re.DOTALL)
_NEAREST = 2
"""Objects inside each other whose members are read: the message, and its parameters."""
_TOO_LONG = re.compile(rb"-?[1-9][0-9]{4000,}")
_OPENS = {b"}": b"{", b"]": b"["}
_MAY_ROUND = re.compile(rb"[0-9.]{17}|[eE][+-]?[0-9]{3}")


def known_of(line: bytes) -> Message | None:
    """Return what is known of a message that is not to be held as it is; None: it is none."""
    try:
        found = read_odd(line)
    except BeyondError:
        return outline(line)
    except UnreadableError:
        return None
    return found if is_object(found) else None


def outline(line: bytes) -> Message | None:
    """Return the members of a message, and those of its parameters; None: it has none.

    What is an object or a list is empty there. Whether all the rest is JSON is not looked at.
    """
    found, at = _Outline(), 0
    try:
        while at < len(line) <= LONGEST:
            token = (_NEAR if found.is_near else _DEEP).match(line, at)
            if token is None:
                return None
            found.take(token[1])
            at = token.end()
    except (ValueError, IndexError):
        return None
    return found.message if found.is_whole else None


class _Outline:
    """Takes the tokens of a line. `message`: what is known of it."""

    def __init__(self) -> None:
        self.message: Message = {}
        self.is_whole = False
        self._open: list[bytes] = []
        self._names: list[str | None] = [None] * _NEAREST
        self._is_value = True

    @property
    def is_near(self) -> bool:
        return len(self._open) <= _NEAREST

    def take(self, token: bytes) -> None:
        """Raise `ValueError` or `IndexError` for what is no message."""
        if self.is_whole:
            raise ValueError("more follows")
        match token:
            case b"{" | b"[":
                self._put({} if token == b"{" else [])
                self._open.append(token)
                self._is_value = token == b"["
            case b"}" | b"]":
                if self._open.pop() != _OPENS[token]:
                    raise ValueError("brackets do not match")
                self.is_whole = not self._open
            case b":" | b",":
                self._is_value = token == b":" or self._open[-1] == b"["
            case _ if not self.is_near:
                pass
            case _ if self._is_value:
                self._put(None if _TOO_LONG.fullmatch(token) else json.loads(token))
            case _:
                self._names[len(self._open) - 1] = json.loads(token)

    def _put(self, value: Any) -> None:
        depth = len(self._open)
        if depth == 0:
            if not is_object(value):
                raise ValueError("no object")
        elif depth <= _NEAREST and self._open[-1] == b"{":
            outer = self._names[: depth - 1]
            holder = self.message if depth == 1 else self.message.get("params")
            name = self._names[depth - 1]
            if outer in ([], ["params"]) and is_object(holder):
                if name is None or name in holder:
                    raise ValueError("a name that stands there twice")
                holder[name] = value


def rounded(line: bytes) -> str | None:
    """Return a number of a line that no float holds exactly; None: there is none.

    Passed on by whoever reads the line, it would be another one. Raises `RecursionError`.
    """
    if not _MAY_ROUND.search(line):
        return None
    found: list[str] = []

    def number(text: str) -> float:
        value = float(text)
        try:
            is_exact = Decimal(text) == Decimal(repr(value))
        except InvalidOperation:
            is_exact = False
        if not is_exact:
            found.append(text)
        return value

    json.loads(line, parse_float=number)
    return found[0] if found else None
