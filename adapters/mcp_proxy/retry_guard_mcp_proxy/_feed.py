"""What comes in over a pipe, for the one task that waits for it."""

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context, copy_context
from typing import Any

_MUCH = 1 << 19
"""Bytes that may wait; beyond that nothing is read until they are taken."""


class Feed(asyncio.Protocol):
    """Bytes in the order in which they came. `over`: no more will come.

    Awaited, it lets its task go on in the very round of the loop in which something comes. A stream
    of asyncio would only note it, and let the task go on in the next round.
    """

    _asyncio_future_blocking = False  # by this a task knows what it can wait for

    def __init__(self) -> None:
        """Nothing came yet."""
        self.over = False
        self._held, self._loop = bytearray(), asyncio.get_running_loop()
        self._transport: asyncio.ReadTransport | None = None
        self._paused = False
        self._wakes: tuple[Context, Callable[[Feed], object]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Know where it comes from; of a transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what came; of a transport."""
        self._held += data
        if len(self._held) > _MUCH and not self._paused and self._transport is not None:
            self._transport.pause_reading()
            self._paused = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as it is called
        """Note the end, whatever brought it; of a transport."""
        self.over = True
        self._wake()

    def taken(self) -> bytes:
        """Return all that came."""
        taken = bytes(self._held)
        self._held.clear()
        if self._paused and not self.over and self._transport is not None:
            self._transport.resume_reading()
            self._paused = False
        return taken

    def _wake(self) -> None:
        wakes, self._wakes = self._wakes, None
        if wakes is not None:
            context, wake = wakes
            context.run(wake, self)

    def __await__(self) -> Generator["Feed", None, None]:
        if not self._held and not self.over:
            self._asyncio_future_blocking = True
            yield self

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop in which it is awaited; of a task."""
        return self._loop

    def add_done_callback(
        self, wake: Callable[["Feed"], object], *, context: Context | None = None
    ) -> None:
        """Let the task go on when something comes; of a task."""
        self._wakes = context or copy_context(), wake

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002 - as a task calls it
        """Let the task go on soon, to be cancelled; of a task."""
        self._loop.call_soon(self._wake)
        return False

    def result(self) -> None:
        """Return nothing: the task looks for itself; of a task."""
