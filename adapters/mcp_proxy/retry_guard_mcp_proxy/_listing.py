"""The list of the server's tools, where the proxy has to ask for it itself."""

import asyncio
from typing import Any

from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._messages import Message, is_list, object_in
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Upstream

LISTING = 30.0
"""Seconds for all pages of a list."""
_PAGES = 100


class ListingError(ServerError):
    """The list could not be had. `why`: in the guard's own words, for a model; the message has all.

    `reached`: the server was asked, and so it would say the same again.

    What a server says of it is for the operator alone: it could speak for the guard.
    """

    def __init__(self, why: str, words: str = "", *, reached: bool = True) -> None:
        """`words`: what the server, or the way to it, says of that."""
        super().__init__(f"{why}: {words}" if words else why)
        self.why, self.reached = why, reached


async def list_tools(upstream: Upstream, session: Session) -> list[Any]:
    """Return what the server says of its tools. Raises `ListingError`."""
    try:
        async with asyncio.timeout(LISTING):
            return await _pages(upstream, session)
    except ListingError:
        raise
    except TimeoutError as error:
        raise ListingError("it did not answer in time") from error
    except Exception as error:  # of whatever transport
        words = str(error) or type(error).__name__
        raise ListingError("it could not be asked for it", words, reached=False) from error


async def _pages(upstream: Upstream, session: Session) -> list[Any]:
    found: list[Any] = []
    params: Message = {"_meta": session.stated} if session.stated else {}
    for _ in range(_PAGES):
        response = await upstream.request(upstream.new_id(), "tools/list", params)
        result = object_in(response, "result")
        tools, cursor = result.get("tools"), result.get("nextCursor")
        if not is_list(tools):
            words = object_in(response, "error").get("message", "there is no list in its answer")
            raise ListingError("it answered without one", str(words))
        found += tools
        if not isinstance(cursor, str) or not cursor:
            return found
        params = {**params, "cursor": cursor}
    raise ListingError(f"it does not end within {_PAGES} pages")
