"""What the client says, on its way to the server: in order, and nobody waits for it."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._notes import note

BOUND = 64 << 20
"""Bytes that may wait; a message that is larger alone waits all the same."""
STALLED = 5.0
"""Seconds in which a server takes at least one message, where so much waits."""
_POLL = 0.05

Said = Message | list[Message]


class _Waiting(NamedTuple):
    line: bytes
    message: Said


class Outgoing:
    """A queue. Guarded calls are not in it: each has a task of its own."""

    def __init__(
        self,
        tell: Callable[[bytes, Said], Awaitable[None]],
        refused: Callable[[Said, Exception], Awaitable[None]],
    ) -> None:
        """Nothing waits. `tell`: returns when the server has a message; raises `DownError`.

        `refused`: lets the client know that a message was not passed on, and why.
        """
        self._tell, self._refused = tell, refused
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._held = self._taken = 0
        self._stalled_at = -1
        self._work: asyncio.Task[None] | None = None

    async def put(self, line: bytes, message: Said) -> None:
        """Let a message wait for its turn; where there is no room for it, it is refused."""
        if not await self._room(len(line)):
            waits = "the server does not take what it is told"
            await self._refused(message, DownError(f"{waits}: {self._held} bytes wait already"))
            return
        self._held += len(line)
        self._queue.put_nowait(_Waiting(line, message))
        if self._work is None:
            self._work = asyncio.create_task(self._run())

    async def _room(self, size: int) -> bool:
        """Return whether there is room, soon; while the server takes something, wait for it."""
        seen, left = self._taken, STALLED
        while self._held and self._held + size > BOUND:
            if self._stalled_at == self._taken:
                return False
            await asyncio.sleep(_POLL)
            seen, left = self._taken, (left - _POLL if seen == self._taken else STALLED)
            if left <= 0:
                self._stalled_at = self._taken
        return True

    async def _run(self) -> None:
        while True:
            one = await self._queue.get()
            try:
                await self._tell(*one)
            except DownError as error:
                await self._down(one, error)
            except Exception as error:  # noqa: BLE001 - the pipe outlives whatever a message does
                note(f"a message was not passed on:\n{traceback.format_exc()}")
                await self._refused(one.message, error)
            self._took(one)

    async def _down(self, first: _Waiting, error: DownError) -> None:
        """Refuse what waited for a server that did not come."""
        rest = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        for one in rest:
            self._took(one)
        for one in (first, *rest):
            await self._refused(one.message, error)

    def _took(self, one: _Waiting) -> None:
        self._held -= len(one.line)
        self._taken += 1

    async def settled(self, patience: Patience) -> bool:
        """Return whether all is passed on, before the patience is lost."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._held and loop.time() < began + patience.ends:  # noqa: ASYNC110 - patience may be lost meanwhile
            await asyncio.sleep(_POLL)
        return not self._held

    async def close(self) -> None:
        """Pass nothing more on."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})
