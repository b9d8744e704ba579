"""What a line of a server says, if anything: its standard output may hold noise."""

import json
import re
from typing import Any, NamedTuple

from retry_guard_mcp_proxy._messages import (
    INTERNAL_ERROR,
    Message,
    UnreadableError,
    encoded,
    failure,
    is_list,
    is_message,
    read_odd,
)

_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d{1,18})')
_ENDS = 400
"""Bytes at either end of a line in which an id is looked for."""


class Heard(NamedTuple):
    """A message, or a list of them, and the line that says it."""

    line: bytes
    message: Message | list[Message]


def heard(line: bytes) -> Heard | None:
    """Return what a line says; None: it is noise, and no client shall see it.

    Bytes that are no text are replaced. An answer that cannot be read is an error with its id, so
    that nobody waits for it.
    """
    whole = line if line.endswith(b"\n") else line + b"\n"
    try:
        said: Any = read_odd(whole)
    except UnreadableError:
        whole = line.decode("utf-8", "replace").rstrip("\n").encode() + b"\n"
        try:
            said = read_odd(whole)
        except UnreadableError:
            return _lost(line)
    if is_message(said):
        return Heard(whole, said)
    if is_list(said) and said and all(map(is_message, said)):
        return Heard(whole, said)
    return None


def _lost(line: bytes) -> Heard | None:
    """The error that stands for an answer that cannot be read."""
    if not (line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}")):
        return None
    found = _ID.search(line[:_ENDS]) or _ID.search(line[-_ENDS:])
    if found is None or b'"method"' in line[:_ENDS]:
        return None
    try:
        given = json.loads(found[1])
    except ValueError:
        return None
    message = failure(given, INTERNAL_ERROR, "the server's answer could not be read")
    return Heard(encoded(message), message)
