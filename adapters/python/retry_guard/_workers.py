"""Threads in which a ledger that may block does its work, so that an event loop goes on.

A hand-over is one wake-up there and one back. The thread that was free last works next: its
connection still knows the file.
"""

import asyncio
import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

LIMIT = 8
"""Threads: as many connections as a ledger keeps for later ones."""
IDLE = 5.0
"""Seconds after which a thread that has nothing to do ends."""


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


_Inbox = SimpleQueue[Job | None]


class Workers:
    """Threads of one guard. What they have begun is carried to its end, also as Python ends."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._forget()
        _all.add(self)

    def _forget(self) -> None:
        """Know no thread: those of a parent process are none of ours, and may hold its lock."""
        self._pid, self._lock, self._ending = os.getpid(), threading.Lock(), False
        self._threads = dict[_Inbox, threading.Thread]()
        self._idle, self._waiting = list[_Inbox](), deque[Job]()

    def begin(self, function: Callable[..., Any], *arguments: Any) -> Job:
        """Begin a job. Where no thread can be had, it waits for one, or is done here and now."""
        job = Job(function, *arguments)
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            inbox = self._idle.pop() if self._idle else self._started()
            if inbox is not None:
                inbox.put(job)
                return job
            if self._threads:
                self._waiting.append(job)
                return job
        job.run()
        job.over = True
        return job

    def _started(self) -> _Inbox | None:
        """Start a thread; None: there are enough, or the system has no room for one."""
        if len(self._threads) >= LIMIT:
            return None
        inbox: _Inbox = SimpleQueue()
        thread = threading.Thread(target=self._work, args=(inbox,), name="retry-guard", daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._threads[inbox] = thread
            return inbox
        return None

    def _work(self, inbox: _Inbox) -> None:
        """Do one job after the other. Free before it tells, this thread gets what follows."""
        job = inbox.get()
        while job is not None:
            job.run()
            waited = self._freed(inbox)
            job.tell()
            del job  # nothing is held while nothing is done
            job = waited or self._rested(inbox)
            del waited

    def _freed(self, inbox: _Inbox) -> Job | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if self._ending:
                del self._threads[inbox]
                inbox.put(None)
            else:
                self._idle.append(inbox)
        return None

    def _rested(self, inbox: _Inbox) -> Job | None:
        """Return the next job; None: there was none for long."""
        with suppress(Empty):
            return inbox.get(timeout=IDLE)
        with self._lock:
            if inbox in self._idle:
                self._idle.remove(inbox)
                del self._threads[inbox]
                return None
        return inbox.get()

    def finish(self) -> None:
        """Return once all that was begun is done and the threads have ended."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._ending, threads = True, tuple(self._threads.values())
            for inbox in self._idle:
                del self._threads[inbox]
                inbox.put(None)
            self._idle.clear()
        for thread in threads:
            thread.join()


_all = weakref.WeakSet[Workers]()


def _finish_all() -> None:
    for workers in tuple(_all):
        workers.finish()


atexit.register(_finish_all)
