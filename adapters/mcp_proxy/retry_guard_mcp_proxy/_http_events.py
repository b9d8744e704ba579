"""What a server says in the body of a response: a message, or a stream of events that hold them."""

import codecs
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from retry_guard_mcp_proxy._hearing import Heard, heard
from retry_guard_mcp_proxy._messages import (
    UnreadableError,
    encoded,
    is_object,
    is_response,
    name_of,
    read,
)
from retry_guard_mcp_proxy._notes import note

EVENTS = "text/event-stream"
_SHOWN = 200
"""Characters of noise, and of a refusal, that are shown."""


@dataclass(slots=True)
class Tail:
    """Where a stream has come to: its last event, and how long the server wants pauses to be.

    `last`: the id of the event; empty: there was none. `pause`: in seconds; None: not said.
    """

    last: str = ""
    pause: float | None = None


async def messages(response: httpx2.Response, tail: Tail) -> AsyncGenerator[Heard]:
    """Yield each message of a response that succeeded. Raises what httpx2 raises."""
    if not _is_stream(response):
        for found in _noted(await response.aread()):
            yield found
        return
    # It is declared as less than the generator that it is, which has to be closed.
    source: Any = aiter(httpx2.EventSource(response, max_event_size=None))
    async with aclosing(cast("AsyncGenerator[httpx2.ServerSentEvent]", source)) as events:
        async for event in events:
            tail.last = event.id or tail.last
            tail.pause = tail.pause if event.retry is None else event.retry / 1000
            if event.event == "message" and event.data:
                for found in _noted(event.data.encode()):
                    yield found


def _is_stream(response: httpx2.Response) -> bool:
    return _kind(response) == EVENTS


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _noted(body: bytes) -> list[Heard]:
    """Return the messages of a body; what is none is shown to the operator."""
    found = _read(body)
    if not found and body.strip():
        text = body[:_SHOWN].decode("utf-8", "backslashreplace")
        note(f"the server said what is no message: {text!r}")
    return found


def _read(body: bytes) -> list[Heard]:
    """Return the messages of a body, each as one line: line breaks in it are mere white space."""
    text = body.removeprefix(codecs.BOM_UTF8)
    found = heard(text.replace(b"\r", b" ").replace(b"\n", b" "))
    if found is None:
        return []
    if isinstance(found.message, list):
        return [Heard(encoded(one), one) for one in found.message]
    return [found]


def refusal(response: httpx2.Response, given: object) -> Heard:
    """Return the server's own answer to a request, in a response that is no success and was read.

    Raises `httpx2.HTTPStatusError` where there is none: the status says what happened then. An
    error without the id of the request is of a server that had not read the request.
    """
    for found in _read(response.content):
        if answers(found, given):
            return found
    raise refused(response)


def answers(found: Heard, given: object) -> bool:
    """Whether it is the answer to the request with that id."""
    message = found.message
    if not is_object(message) or not is_response(message):
        return False
    return name_of(given) is not None and name_of(message.get("id")) == name_of(given)


def refused(response: httpx2.Response) -> httpx2.HTTPStatusError:
    """Return the error of a response that is no success and was read. It shows no URL."""
    text = f"the server answered with HTTP {response.status_code} {response.reason_phrase}".rstrip()
    if response.is_redirect:
        text += ", a redirect, which is not followed: give the URL that it leads to"
    own = words(response)
    text = f"{text}: {own}" if own else text
    return httpx2.HTTPStatusError(text, request=response.request, response=response)


def words(response: httpx2.Response) -> str:
    """Return what the server says in a response that is no success and was read; else nothing.

    It is one line, of an error of any of the usual forms, or of plain text.
    """
    said: Any = None
    with suppress(UnreadableError):  # plain text
        said = read(response.content)
    if is_object(said):
        found: Any = said.get("error") or said.get("message") or said.get("detail")
        text: Any = found.get("message") if is_object(found) else found
    else:
        text = response.text if _kind(response) == "text/plain" else None
    return " ".join(text.split())[:_SHOWN] if isinstance(text, str) else ""
