"""A changed message in the spelling of its line: what was not changed keeps its very bytes.

Numbers, escapes, order and space are then still the server's own.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from retry_guard_mcp_proxy._messages import Message, encoded, is_list, is_object

_scan = json.JSONDecoder().raw_decode
_SPACE = " \t\n\r"


def respelled(line: bytes, old: Message, new: Message) -> bytes:
    """Return the line of `new`, which was made from `old` by taking members out or replacing them.

    `line`: says `old`. What is one and the same object in both is copied from it.
    Raises `RecursionError` for what is nested too deep.
    """
    try:
        text = line.decode()
        start = _past(text, 0)
        return f"{text[:start]}{_value(text, start, old, new)}".encode() + b"\n"
    except (ValueError, IndexError, KeyError):  # it is not spelled as was thought
        return encoded(new)


class _Part(NamedTuple):
    """A part of an object or a list. `start`: of its name, or of its value where it has none."""

    name: str | int
    start: int
    value: int
    end: int


def _value(text: str, at: int, old: Any, new: Any) -> str:
    """The value that begins there, as it is now."""
    if new is old:
        return text[at : _scan(text, at)[1]]
    if is_object(old) and is_object(new) and new.keys() <= old.keys():
        return _with(text, at, {**old}, {**new})
    if is_list(old) and is_list(new) and len(new) == len(old):
        return _with(text, at, dict(enumerate(old)), dict(enumerate(new)))
    return json.dumps(new, allow_nan=False)


def _with(text: str, at: int, old: dict[Any, Any], new: dict[Any, Any]) -> str:
    """The object or list that begins there, with the parts that it has now."""
    parts = list(_parts(text, at))
    if [part.name for part in parts] != list(old):
        raise ValueError("a name that stands there twice has no one spelling")
    end = parts[-1].end if parts else at + 1
    said = text[at : parts[0].start] if parts else text[at]
    first = True
    for before, part in zip([None, *parts], parts, strict=False):
        if part.name in new:
            said += "" if first or before is None else text[before.end : part.start]
            said += text[part.start : part.value]
            said += _value(text, part.value, old[part.name], new[part.name])
            first = False
    return said + text[end : _scan(text, at)[1]]


def _parts(text: str, at: int) -> Iterator[_Part]:
    is_named, at = text[at] == "{", _past(text, at + 1)
    count = 0
    while text[at] not in "}]":
        start, name = at, count
        if is_named:
            name, at = _scan(text, at)
            at = _past(text, _past(text, at) + 1)  # over the colon
        end = _scan(text, at)[1]
        yield _Part(name, start, at, end)
        at, count = _past(text, end), count + 1
        if text[at] == ",":
            at = _past(text, at + 1)


def _past(text: str, at: int) -> int:
    """Where the next thing stands that is no space."""
    while text[at] in _SPACE:
        at += 1
    return at
