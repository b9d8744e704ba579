"""What a line of a server says, if anything: its standard output may hold noise."""

import json
import re
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

from retry_guard_mcp_proxy._messages import (
    INTERNAL_ERROR,
    Message,
    UnreadableError,
    encoded,
    failure,
    is_list,
    is_message,
    is_object,
    is_response,
    name_of,
    read_odd,
)
from retry_guard_mcp_proxy._outline import outline

AS_IT_CAME: ContextVar[bool] = ContextVar("retry_guard_mcp_as_it_came", default=False)
"""Whether this proxy, in the modes `observe` and `off`, passes on all that may be JSON."""
_ID = rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d{1,18})'
_OTHER = rb'"jsonrpc"\s*:\s*"2\.0"'
_HEAD = re.compile(rb"\s*\{\s*(?:(?:" + _OTHER + rb"|" + _ID + rb')\s*,\s*)*"(?:result|error)"\s*:')
_TAIL = re.compile(rb"(?:,\s*(?:" + _OTHER + rb"|" + _ID + rb")\s*)*\}\s*\Z")
_ENDS = 400
"""Bytes at either end of a line in which the members of a message are looked for."""
_CLOSES = {b"{": b"}", b"[": b"]"}


class Heard(NamedTuple):
    """A message, or a list of them, and the line that says it.

    Nothing is known of what is in a list that is empty here.
    """

    line: bytes
    message: Message | list[Message]


def heard(line: bytes) -> Heard | None:
    """Return what a line says; None: it is noise, and no client shall see it.

    Bytes that are no text are replaced. An answer that cannot be read is an error with its id, so
    that nobody waits for it. `AS_IT_CAME`: the line stays what it is in any case.
    """
    came = whole = line if line.endswith(b"\n") else line + b"\n"
    try:
        said: Any = read_odd(whole)
    except UnreadableError:
        whole = line.decode("utf-8", "replace").rstrip("\n").encode() + b"\n"
        try:
            said = read_odd(whole)
        except UnreadableError:
            return _lost(came, whole.strip())
    if is_message(said) or (is_list(said) and said and all(map(is_message, said))):
        return Heard(came if AS_IT_CAME.get() else whole, said)
    if AS_IT_CAME.get() and (is_object(said) or is_list(said)):
        return Heard(came, said if is_object(said) else [])
    return None


def _lost(line: bytes, text: bytes) -> Heard | None:
    """The error that stands for an answer that cannot be read."""
    if text[-1:] != _CLOSES.get(text[:1]):
        return None
    given = _answered(text)
    message = failure(given, INTERNAL_ERROR, "the server's answer could not be read")
    if AS_IT_CAME.get():
        return Heard(line, [] if given is None else message)
    return None if given is None else Heard(encoded(message), message)


def _answered(text: bytes) -> Any:
    """The id that it is an answer to, which stands at the top of it; None: it is none."""
    head = _HEAD.match(text[:_ENDS])
    tail = _TAIL.search(text[-_ENDS:])
    found: bytes | None = head and (head[1] or (tail and tail[1]))
    if found:
        with suppress(ValueError):  # no id: it is looked for in the whole, below
            return json.loads(found)
    known = outline(text) or {}
    given = known.get("id")
    return given if is_response(known) and name_of(given) is not None else None
