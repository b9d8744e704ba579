"""Read-backs: calls of the same server, by the proxy itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Upstream

READ = 30.0
"""Seconds after which a read that was not answered has failed."""


def reader(
    upstream: Upstream, session: Session
) -> Callable[[str, dict[str, Any]], Awaitable[object]]:
    """Return how the guard reads."""

    async def read(tool: str, arguments: dict[str, Any]) -> object:
        stated = session.stated
        params = {"name": tool, "arguments": arguments, **({"_meta": stated} if stated else {})}
        async with asyncio.timeout(READ):
            response = await upstream.request(upstream.new_id(), "tools/call", params)
        if "result" not in response or response.get("error") is not None:
            raise ServerError(f"{tool} was answered with an error")
        return response["result"]

    return read
