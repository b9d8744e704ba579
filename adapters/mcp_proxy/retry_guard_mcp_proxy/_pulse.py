"""Whether a server is still there: its process may be gone while another one holds its pipes.

A process that the server forked may hold them and serve nobody; or a launcher has ended, and the
server that it had started serves on. Which of the two it is shows in whether a question is
answered.
"""

import asyncio
import subprocess
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

GRACE = 1.0
"""Seconds in which the pipe of a process that is gone ends, unless another one holds it."""
ANSWERS, BEGINS = 5.0, 30.0
"""Seconds that such a one has to answer; and where nothing was said yet, since it may begin."""


class Pulse:
    """Follows one life. `said`: it has said something; `busy`: that is being handed on.

    `sure`: cleared while nobody knows whether anybody serves.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Begin to wait for the end of the process, in the loop that runs now."""
        self.said = self.busy = False
        self.sure, self._gone = asyncio.Event(), asyncio.Event()
        self.sure.set()
        wait = (process, asyncio.get_running_loop(), self._gone)
        threading.Thread(target=_wait, args=wait, daemon=True).start()

    async def over(
        self, reading: "asyncio.Task[None]", serves: Callable[[], Awaitable[object]]
    ) -> None:
        """Return once no more can be heard: the pipe has ended, or nobody serves it any more.

        `serves`: asks a question; returns once that is answered, and raises where it cannot be.
        """
        going = asyncio.create_task(self._gone.wait())
        await asyncio.wait({reading, going}, return_when=asyncio.FIRST_COMPLETED)
        going.cancel()
        if reading.done():
            return
        self.sure.clear()
        await asyncio.wait({reading}, timeout=GRACE)
        while self.busy and not reading.done():  # what was said is worth more than the time
            await asyncio.wait({reading}, timeout=GRACE)
        if not reading.done() and await self._served(reading, serves):
            self.sure.set()
            await asyncio.wait({reading})

    async def _served(
        self, reading: "asyncio.Task[None]", serves: Callable[[], Awaitable[object]]
    ) -> bool:
        asking = asyncio.ensure_future(serves())
        limit, first = ANSWERS if self.said else BEGINS, asyncio.FIRST_COMPLETED
        await asyncio.wait({asking, reading}, timeout=limit, return_when=first)
        asking.cancel()
        (end,) = await asyncio.gather(asking, return_exceptions=True)
        return not isinstance(end, BaseException)


def _wait(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, gone: asyncio.Event
) -> None:
    process.wait()
    with suppress(RuntimeError):  # the loop is closed, so nobody has to know
        loop.call_soon_threadsafe(gone.set)
