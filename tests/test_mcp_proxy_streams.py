"""What comes in over a pipe: all of it, in order, and no more than can wait."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from retry_guard_mcp_proxy._streams import lines, pieces

MUCH = 1 << 20
"""Bytes that may lie in the pipe and in the proxy together while nobody takes them."""


async def written(descriptor: int, whole: bytes) -> None:
    """Write all of it, however slowly it is read, and end."""
    await asyncio.to_thread(_write, descriptor, whole)


def _write(descriptor: int, whole: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(whole)


async def all_of(found: AsyncIterator[bytes]) -> bytes:
    """Return what comes until the end."""
    return b"".join([piece async for piece in found])


async def some_rounds() -> None:
    """Let the loop carry out what was begun."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_all_that_is_written_comes_in_order_up_to_the_end() -> None:
    out, into = os.pipe()
    whole = b"".join(b"%d\n" % number for number in range(700_000))
    heard, _ = await asyncio.gather(all_of(lines(pieces(out))), written(into, whole))
    assert heard == whole


async def test_a_pipe_that_ends_at_once_says_nothing() -> None:
    out, into = os.pipe()
    os.close(into)
    assert await all_of(pieces(out)) == b""


async def test_what_came_before_the_end_is_kept_for_who_is_busy_meanwhile() -> None:
    out, into = os.pipe()
    found = pieces(out)
    os.write(into, b"first")
    assert await anext(found) == b"first"
    os.write(into, b"last")
    os.close(into)
    await some_rounds()
    assert await all_of(found) == b"last"


async def test_no_more_is_read_than_can_wait_while_nobody_takes_it() -> None:
    out, into = os.pipe()
    found = pieces(out)
    os.write(into, b"first")
    assert await anext(found) == b"first"
    os.set_blocking(into, False)
    sent = taken_in = 0
    for _ in range(200):
        await asyncio.sleep(0)
        try:
            sent += os.write(into, b"x" * 65_536)
        except BlockingIOError:
            taken_in += 1
    assert 0 < sent <= MUCH
    assert taken_in > 0
    os.close(into)
    assert len(await all_of(found)) == sent


async def test_who_is_cancelled_waits_no_longer_and_the_pipe_is_closed() -> None:
    out, into = os.pipe()
    waiting = asyncio.create_task(all_of(pieces(out)))
    await some_rounds()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 60)
    await some_rounds()
    with pytest.raises(BrokenPipeError):
        os.write(into, b"x")
    os.close(into)
