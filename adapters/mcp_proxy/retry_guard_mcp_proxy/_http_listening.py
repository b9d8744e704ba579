"""The stream on which a server that is reached over HTTP speaks by itself, in a session."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus

import httpx2

from retry_guard_mcp_proxy._http_asking import Hear
from retry_guard_mcp_proxy._http_events import Tail, messages
from retry_guard_mcp_proxy._http_wire import Wire

PAUSE, LONGEST = 1.0, 30.0
"""Seconds before a stream that ended is opened again; each time in vain doubles them."""


class Listening:
    """At most one stream at a time."""

    def __init__(self, wire: Wire, broke: Callable[[], None]) -> None:
        """Hear nothing yet. `broke`: called when a stream broke off."""
        self._wire, self._broke = wire, broke
        self._task: asyncio.Task[None] | None = None

    def begin(
        self,
        headers: Mapping[str, str],
        hear: Hear,
        lost: Callable[[httpx2.HTTPStatusError], bool],
    ) -> None:
        """Hear this session, and the last one no longer.

        `lost`: whether a refusal says that there is no such session any more.
        """
        self.end()
        self._task = asyncio.create_task(self._listen(headers, hear, lost))

    def end(self) -> None:
        """Hear it no longer."""
        if self._task is not None:
            self._task.cancel()

    async def _listen(
        self,
        headers: Mapping[str, str],
        hear: Hear,
        lost: Callable[[httpx2.HTTPStatusError], bool],
    ) -> None:
        tail, pause = Tail(), PAUSE
        while True:
            try:
                async with (
                    self._wire.events(headers, tail) as response,
                    aclosing(messages(response, tail)) as said,
                ):
                    async for found in said:
                        pause = PAUSE
                        await hear(found)
            except httpx2.HTTPStatusError as error:
                if lost(error) or not may_change(error.response):
                    return  # the next request opens the session again; or there is no such stream
            except httpx2.HTTPError:
                self._broke()  # it is opened again; what was said meanwhile may be lost
            await asyncio.sleep(max(pause, min(tail.pause or 0, LONGEST)))
            pause = min(2 * pause, LONGEST)


def may_change(response: httpx2.Response) -> bool:
    """Whether a refusal may be for now only: a server may still hold the stream that broke off."""
    return response.is_server_error or response.status_code in (
        HTTPStatus.CONFLICT,
        HTTPStatus.TOO_MANY_REQUESTS,
    )
