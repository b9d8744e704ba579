"""Work that one thread does for an event loop in another, and the way from one to the other."""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any


class Job:
    """Work in another thread, with the context variables of here, which one task awaits.

    Like a future that cannot be cancelled: a cancellation reaches the task once the work is over.
    `over`: it is. `cancelling`: that was asked for meanwhile. `loop`: the task's.
    """

    _asyncio_future_blocking = False  # by this a task knows what it can wait for

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin nothing yet."""
        self.over = self.cancelling = False
        self._function, self._arguments = function, arguments
        self._context, self.loop = copy_context(), asyncio.get_running_loop()
        self._wakes: tuple[Context, Callable[[Job], object]] | None = None
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
            self.loop.call_soon_threadsafe(self.end, context=self._context)

    def end(self) -> None:
        """Note that it is over."""
        self.over, wakes, self._wakes = True, self._wakes, None
        if wakes is not None:
            context, wake = wakes
            context.run(wake, self)

    def __await__(self) -> Generator["Job", None, None]:
        if not self.over:
            self._asyncio_future_blocking = True
            yield self

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop in which it is awaited; of a task."""
        return self.loop

    def add_done_callback(
        self, wake: Callable[["Job"], object], *, context: Context | None = None
    ) -> None:
        """Let the task go on when it is over; of a task."""
        # An empty one counts as false, and is the task's all the same.
        self._wakes = copy_context() if context is None else context, wake

    def remove_done_callback(self, wake: Callable[["Job"], object]) -> int:
        """Forget who waits, and return how many that were; of a loop."""
        waited = self._wakes is not None and self._wakes[1] == wake
        if waited:
            self._wakes = None
        return int(waited)

    def done(self) -> bool:
        """Return whether it is over; of a loop."""
        return self.over

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002 - as a task calls it
        """Return that this cannot be cancelled, so that the task is when it is over; of a task."""
        self.cancelling = True
        return False

    def result(self) -> None:
        """Return nothing: the task looks for itself; of a task."""

    def outcome(self) -> Any:
        """Return what came of it, or raise that, once."""
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
