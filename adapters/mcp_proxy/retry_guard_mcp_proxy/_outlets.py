"""Bytes into file descriptors, without blocking anybody, whatever stands behind them."""

import asyncio
import os
from collections.abc import Callable
from io import FileIO
from typing import Protocol

from retry_guard_mcp_proxy._streams import can_be_waited_for


class UnwrittenError(BrokenPipeError):
    """Nobody reads any more, and no byte of the line was written."""


def _free() -> None:
    """It may be written whenever it can be."""


class Outlet(Protocol):
    """Where lines are written."""

    async def write(self, line: bytes, goes: Callable[[], None] = _free) -> None:
        """Return when the system has all of it.

        Raises `BrokenPipeError` if nobody reads: `UnwrittenError` if not a byte was written.

        `goes`: called when all that was written before is gone, right before the first byte; what
        it raises comes through, and nothing is written.
        """
        ...

    def close(self) -> None:
        """Let whoever reads see the end."""
        ...

    def abort(self) -> None:
        """Write nothing more, also nothing that waits for whoever does not read."""
        ...


class Inlet(Outlet, Protocol):
    """An outlet that can be written to without waiting."""

    @property
    def is_free(self) -> bool:
        """Whether somebody reads, and nothing that was written waits."""
        ...

    def put(self, line: bytes) -> None:
        """Write without waiting; to be called where it is free."""
        ...


async def outlet(descriptor: int) -> Inlet:
    """Return where to write; it owns the descriptor."""
    file = os.fdopen(descriptor, "wb", buffering=0)
    if not can_be_waited_for(descriptor):
        return _FileOutlet(file)
    flow = _Flow()
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: flow, file)
    transport.set_write_buffer_limits(high=0)
    return _PipeOutlet(transport, flow)


class _Flow(asyncio.BaseProtocol):
    """Whether all that was written is gone, and whether anybody reads."""

    def __init__(self) -> None:
        self.empty, self.lost = asyncio.Event(), False
        self.empty.set()

    def pause_writing(self) -> None:
        self.empty.clear()

    def resume_writing(self) -> None:
        self.empty.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as it is called
        self.lost = True
        self.empty.set()


class _PipeOutlet:
    def __init__(self, transport: asyncio.WriteTransport, flow: _Flow) -> None:
        self._transport, self._flow = transport, flow

    async def write(self, line: bytes, goes: Callable[[], None] = _free) -> None:
        while not (self._is_lost or self._flow.empty.is_set()):
            await self._flow.empty.wait()
        if self._is_lost:
            raise UnwrittenError("nobody reads")
        goes()
        self._transport.write(line)
        await self._flow.empty.wait()
        if self._is_lost:
            raise BrokenPipeError("nobody reads")

    @property
    def is_free(self) -> bool:
        return not self._is_lost and self._flow.empty.is_set()

    def put(self, line: bytes) -> None:
        self._transport.write(line)

    @property
    def _is_lost(self) -> bool:
        return self._flow.lost or self._transport.is_closing()

    def close(self) -> None:
        if not self._is_lost:
            self._transport.close()

    def abort(self) -> None:
        if not self._flow.lost:
            self._transport.abort()


class _FileOutlet:
    is_free = False
    """A write may take long, and is made in `write` alone."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    def put(self, line: bytes) -> None:
        self._file.write(line)

    async def write(self, line: bytes, goes: Callable[[], None] = _free) -> None:
        goes()
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]

    def close(self) -> None:
        self._file.close()

    def abort(self) -> None:
        self.close()
