"""Bytes out of file descriptors, without blocking anybody, whatever stands behind them."""

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterable

_CHUNK = 1 << 18


def can_be_waited_for(descriptor: int) -> bool:
    """Whether the event loop can say when it is ready: a pipe, a socket, a terminal."""
    mode = os.fstat(descriptor).st_mode
    piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    return os.name == "posix" and piped


async def pieces(descriptor: int) -> AsyncGenerator[bytes]:
    """Yield what can be read until the end, and close the descriptor then."""
    file = os.fdopen(descriptor, "rb", buffering=0)
    if not can_be_waited_for(descriptor):
        with file:
            while piece := await asyncio.to_thread(file.read, _CHUNK):
                yield piece
        return
    reader = asyncio.StreamReader(limit=_CHUNK)
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, file)
    try:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_CHUNK):
                yield piece
    finally:
        transport.close()


async def lines(found: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Yield lines of any length, each with its end; what comes last may have none."""
    held: list[bytes] = []
    async for piece in found:
        *whole, rest = piece.split(b"\n")
        for end in whole:
            yield b"".join((*held, end, b"\n"))
            held.clear()
        if rest:
            held.append(rest)
    if held:
        yield b"".join(held)
