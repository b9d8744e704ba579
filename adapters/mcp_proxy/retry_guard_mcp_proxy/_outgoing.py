"""What the client says, on its way to the server: in order, and nobody waits for it."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._messages import Message, is_object, is_request
from retry_guard_mcp_proxy._notes import note

BOUND, LAST = 64 << 20, 128 << 20
"""Bytes that may wait where a request is added, and where what wants no answer is.

A message that is larger alone waits all the same, where nothing else does.
"""
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
        tell_now: Callable[[bytes, Said], bool] = lambda _line, _message: False,
    ) -> None:
        """Nothing waits. `tell`: returns when the server has a message; raises `DownError`.

        `tell_now`: tells it where that takes no waiting; returns whether it did.
        `refused`: lets the client know that a message was not passed on, and why.
        """
        self._tell, self._tell_now, self._refused = tell, tell_now, refused
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._held = self._taken = 0
        self._noted_at = -1
        self._work: asyncio.Task[None] | None = None

    async def put(self, line: bytes, message: Said) -> None:
        """Let a message wait for its turn; where there is no room for it, it is refused.

        What wants no answer cannot be refused: it has more room, and is dropped beyond that. The
        server is not ended for it, since what it is at may be a write.
        """
        if not self._held and self._tell_now(line, message):
            return
        wants_answer = _wants_answer(message)
        if self._held and self._held + len(line) > (BOUND if wants_answer else LAST):
            why = f"the server does not read fast enough: {self._held} bytes wait for it already"
            if wants_answer:
                await self._refused(message, DownError(why))
            elif self._noted_at != self._taken:
                self._noted_at = self._taken
                note(f"what the client says is not passed on: {why}")
            return
        self._held += len(line)
        self._queue.put_nowait(_Waiting(line, message))
        if self._work is None:
            self._work = asyncio.create_task(self._run())

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


def _wants_answer(message: Said) -> bool:
    said: list[Any] = message if isinstance(message, list) else [message]
    return any(is_object(one) and is_request(one) for one in said)
