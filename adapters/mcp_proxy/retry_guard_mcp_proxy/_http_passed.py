"""A request of the client that passes over HTTP: its answer, or what went wrong."""

import asyncio
import traceback
from http import HTTPStatus

import httpx2

from retry_guard_mcp_proxy._client import LISTEN
from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_listening import LONGEST, PAUSE, may_change
from retry_guard_mcp_proxy._http_sender import Sender
from retry_guard_mcp_proxy._messages import (
    CLOSED,
    INTERNAL_ERROR,
    NO_METHOD,
    Message,
    encoded,
    failure,
)
from retry_guard_mcp_proxy._notes import note


async def passed(sender: Sender, line: bytes, message: Message) -> Heard:
    """Make the request; return the answer, or the error that the client gets in its place."""
    try:
        if message["method"] == LISTEN:
            return await _listened(sender, line, message)
        return (await sender.ask(line, message)).heard
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the client waits
        answer = _failure(message["id"], error)
        return Heard(encoded(answer), answer)


async def _listened(sender: Sender, line: bytes, message: Message) -> Heard:
    """Ask for changes as long as the client listens: what breaks off is asked for again."""
    loop, pause, broke = asyncio.get_running_loop(), PAUSE, False
    while True:
        began = loop.time()
        try:
            return (await sender.ask(line, message)).heard
        except httpx2.HTTPStatusError as error:
            if not broke or not may_change(error.response):
                raise  # it is refused: nothing of it was ever heard, or will be
        except (httpx2.HTTPError, ServerError):
            broke = True
        if sender.closed:
            raise ServerError("the proxy is closing")
        pause = PAUSE if loop.time() - began > LONGEST else pause
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST)


def _failure(given: object, error: Exception) -> Message:
    """The answer to a request that failed."""
    if isinstance(error, httpx2.HTTPStatusError):
        code = NO_METHOD if error.response.status_code == HTTPStatus.NOT_FOUND else INTERNAL_ERROR
        return failure(given, code, str(error))
    if isinstance(error, httpx2.HTTPError | ServerError):
        return failure(given, CLOSED, f"Connection closed: {str(error) or type(error).__name__}")
    note(f"a message was not passed on:\n{''.join(traceback.format_exception(error))}")
    return failure(given, INTERNAL_ERROR, "the proxy failed at it")
