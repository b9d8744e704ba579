"""One life of the server: a process, what is written to it, and what is read of it."""

import asyncio
import os
import subprocess
import traceback
from collections.abc import AsyncIterable, Awaitable, Callable

from retry_guard_mcp_proxy._child import Patience, end
from retry_guard_mcp_proxy._errors import ClosedError, DownError
from retry_guard_mcp_proxy._hearing import Heard, heard
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._outlets import Inlet, UnwrittenError, outlet
from retry_guard_mcp_proxy._pulse import Pulse
from retry_guard_mcp_proxy._streams import lines, pieces
from retry_guard_mcp_proxy._upstream import NOBODY

_DRAIN = 1.0
"""Seconds in which what a server said before it ended is still read."""
_SHOWN, _NOISE = 200, 100
"""Characters of a line of noise that are shown, and lines of it in a life."""


class Life:
    """A process that is heard. `number`: how many there were before. `over`: it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], number: int, inlet: Inlet) -> None:
        """Use `begin`."""
        self.number, self._process, self._inlet = number, process, inlet
        self.over = self.buried = False
        self._pulse = Pulse(process)
        self._noise = 0
        self._reading: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def begin(
        cls,
        process: subprocess.Popen[bytes],
        number: int,
        said: Callable[["Life", Heard], Awaitable[None]],
        serves: Callable[["Life"], Awaitable[object]],
        ended: Callable[["Life"], Awaitable[None]],
    ) -> "Life":
        """Take over the pipes of a process; `ended` is called once no more can be heard of it.

        `serves`: asks a question; see `Pulse.over`.
        """
        into, out = (_own(pipe) for pipe in (process.stdin, process.stdout))
        life = cls(process, number, await outlet(into))

        async def watch(reading: asyncio.Task[None]) -> None:
            await life._pulse.over(reading, lambda: serves(life))
            life.over = True
            life._pulse.sure.set()
            await ended(life)

        life._reading = asyncio.create_task(life._hear(lines(pieces(out)), said))
        life._watching = asyncio.create_task(watch(life._reading))
        return life

    async def _hear(
        self, said: AsyncIterable[bytes], hand_on: Callable[["Life", Heard], Awaitable[None]]
    ) -> None:
        async for line in said:
            found = heard(line)
            if found is not None:
                self._pulse.said = self._pulse.busy = True
                try:
                    await hand_on(self, found)
                except Exception:  # noqa: BLE001 - the pipe outlives whatever a message does to us
                    note(f"a message was not passed on:\n{traceback.format_exc()}")
                self._pulse.busy = False
            elif not line.isspace():
                self._noted(line)

    def _noted(self, line: bytes) -> None:
        self._noise += 1
        if self._noise <= _NOISE:
            text = line[:_SHOWN].decode("utf-8", "backslashreplace")
            note(f"the server wrote what is no message: {text!r}")
        elif self._noise == _NOISE + 1:
            note("the server goes on to write what is no message: the rest is not shown")

    async def is_sure(self) -> None:
        """Return when it is known whether anybody serves; if not, the life is over then."""
        await self._pulse.sure.wait()

    async def say(self, line: bytes, goes: Callable[[], None] = NOBODY) -> None:
        """Write a line. Where nobody reads, the life is over.

        Raises `ClosedError` then, and `DownError` if nothing was written. `goes`: see
        `Outlet.write`.
        """
        try:
            await self._inlet.write(line, goes)
        except OSError as error:
            self.over = True
            if isinstance(error, UnwrittenError):
                raise DownError("nothing was sent: the server ended before it read it") from None
            raise ClosedError("the connection closed: the server does not read") from None

    @property
    def is_free(self) -> bool:
        """Whether it takes a line at once, as far as is known."""
        return not self.over and self._pulse.sure.is_set() and self._inlet.is_free

    def put(self, line: bytes) -> None:
        """Write a line without waiting, where it is free."""
        self._inlet.put(line)

    async def close(self, patience: Patience) -> str:
        """End the input, wait, stop, kill; what is said meanwhile is heard. Return how it ended."""
        self._inlet.close()
        how = await asyncio.to_thread(end, self._process, patience)
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=_DRAIN)
            self._reading.cancel()
        self._inlet.abort()
        return how


def _own(pipe: object) -> int:
    """Return a descriptor of our own for a pipe of the process."""
    fileno, close = getattr(pipe, "fileno"), getattr(pipe, "close")  # noqa: B009 - of either kind
    descriptor = os.dup(fileno())
    close()
    return descriptor
