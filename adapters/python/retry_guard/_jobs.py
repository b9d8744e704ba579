"""Work that one thread does for an event loop in another, and the way from one to the other."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any


class Job:
    """Work in another thread, with the context variables of here. `over`: it has ended."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin nothing yet."""
        self.over = False
        self._function, self._arguments = function, arguments
        self._context, self._loop = copy_context(), asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, in this thread. Never raises."""
        try:
            self._value = self._context.run(self._function, *self._arguments)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error

    def tell(self) -> None:
        """Let the loop know, from another thread."""
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            self._loop.call_soon_threadsafe(self._end, context=self._context)

    def _end(self) -> None:
        self.over = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def ended(self) -> None:
        """Wait until it is over. A cancellation ends the wait, and never the work."""
        self._waiter = self._loop.create_future()
        await self._waiter

    def result(self) -> Any:
        """Return what came of it, or raise that."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._value


class Inbox:
    """Where one thread waits for its next job; None: it shall end.

    It is woken by a socket, since that lets go of the interpreter: woken by a lock, it would only
    wait for the interpreter next.
    """

    def __init__(self, seconds: float) -> None:
        """Be empty. `seconds`: how long to wait at most. Raises `OSError` if the system is full."""
        self._job: Job | None = None
        self._wakes, self._sleeps = socket.socketpair()
        self._sleeps.settimeout(seconds)

    def put(self, job: Job | None) -> None:
        """Give it to the thread, which has none."""
        self._job = job
        self._wakes.send(b"\0")

    def get(self) -> Job | None:
        """Wait for a job. Raises `TimeoutError`."""
        self._sleeps.recv(1)
        job, self._job = self._job, None
        return job

    def close(self) -> None:
        """Give the sockets back."""
        self._wakes.close()
        self._sleeps.close()
