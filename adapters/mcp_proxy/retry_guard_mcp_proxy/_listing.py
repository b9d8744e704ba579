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


async def list_tools(upstream: Upstream, session: Session) -> list[Any]:
    """Return what the server says of its tools.

    Raises `ServerError` where it does not say it, `TimeoutError`, and what an HTTP client raises.
    """
    found: list[Any] = []
    params: Message = {"_meta": session.stated} if session.stated else {}
    async with asyncio.timeout(LISTING):
        for _ in range(_PAGES):
            response = await upstream.request(upstream.new_id(), "tools/list", params)
            result = object_in(response, "result")
            tools, cursor = result.get("tools"), result.get("nextCursor")
            if not is_list(tools):
                why = object_in(response, "error").get("message", "there is no list in its answer")
                raise ServerError(str(why))
            found += tools
            if not isinstance(cursor, str) or not cursor:
                return found
            params = {**params, "cursor": cursor}
    raise ServerError(f"its list does not end within {_PAGES} pages")
