"""The list of tools, where headers of a call depend on it and the client has not asked for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httpx2

from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._http_asking import Reply
from retry_guard_mcp_proxy._messages import (
    Message,
    encoded,
    is_object,
    meta_of,
    object_in,
    params_of,
    request,
)
from retry_guard_mcp_proxy._session import PROTOCOL

LIST = "tools/list"
_PAGES, _LEARNING = 100, 30.0
"""Pages of a list of tools that are looked at, and seconds for all of them."""

Ask = Callable[[bytes, Message], Awaitable[Reply]]


class Learning:
    """Asks for the list, once for all who wait for it."""

    def __init__(self, ask: Ask) -> None:
        """Ask nothing yet. `ask`: makes a request, and learns from the answer."""
        self._ask, self._lock, self._in_vain = ask, asyncio.Lock(), 0

    async def learn(self, call: Message, known: Callable[[], bool]) -> None:
        """Ask for what the call depends on, unless it is known by then. What fails is left."""
        seen = self._in_vain
        async with self._lock:
            if known() or seen != self._in_vain:
                return
            # Whatever it is, the call goes without: its own answer tells.
            with suppress(TimeoutError, httpx2.HTTPError, ServerError):
                async with asyncio.timeout(_LEARNING):
                    await self._pages(call)
            self._in_vain += not known()

    async def _pages(self, call: Message) -> None:
        meta = meta_of(params_of(call))
        params: Message = {"_meta": {n: v for n, v in meta.items() if n.startswith(PROTOCOL)}}
        for page in range(_PAGES):
            asked = request(f"retry-guard-tools-{page}", LIST, params)
            answer = (await self._ask(encoded(asked), asked)).heard.message
            cursor = object_in(answer, "result").get("nextCursor") if is_object(answer) else None
            if not isinstance(cursor, str):
                return
            params = {**params, "cursor": cursor}
