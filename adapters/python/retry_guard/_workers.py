"""Threads in which a ledger that may block does its work, so that an event loop goes on.

As a rule it is one: its connection knows the file, nobody is in its way, and what is begun first is
done first. A job that this one keeps waiting gets another.
"""

import atexit
import os
import threading
import weakref
from collections import deque
from contextlib import suppress

from retry_guard._jobs import Inbox, Job

LIMIT = 8
"""Threads: as many connections as a ledger keeps for later ones."""
PATIENCE = 0.02
"""Seconds that a job waits for a thread before another one is started."""
IDLE = 5.0
"""Seconds after which a thread that has nothing to do ends."""


class Workers:
    """Threads of one guard. What they have begun is carried to its end, also as Python ends."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._forget()
        _all.add(self)

    def _forget(self) -> None:
        """Know no thread: those of a parent process are none of ours, and may hold its lock."""
        self._pid, self._lock, self._ending = os.getpid(), threading.Lock(), False
        self._threads = dict[Inbox, threading.Thread]()
        self._idle, self._waiting = list[Inbox](), deque[Job]()

    def begin(self, job: Job) -> None:
        """Begin a job; where no thread can be had at all, it is done here and now."""
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
            if inbox is None and self._threads:
                self._waiting.append(job)
                job.loop.call_later(PATIENCE, self._hurry, job)
                return
            inbox = inbox or self._started()
        if inbox is not None:
            inbox.put(job)
        else:
            job.run()
            job.end()

    def _hurry(self, job: Job) -> None:
        """Start a thread for a job that still waits, unless there are enough."""
        with self._lock:
            inbox = self._started() if job in self._waiting else None
            if inbox is None:
                return
            self._waiting.remove(job)
        inbox.put(job)

    def _started(self) -> Inbox | None:
        """Start a thread; None: there are enough, or the system has no room for one."""
        if len(self._threads) >= LIMIT:
            return None
        with suppress(OSError):
            inbox = Inbox(IDLE)
            work = threading.Thread(
                target=self._work, args=(inbox,), name="retry-guard worker", daemon=True
            )
            try:
                work.start()
            except RuntimeError:
                inbox.close()
            else:
                self._threads[inbox] = work
                return inbox
        return None

    def _work(self, inbox: Inbox) -> None:
        """Do one job after the other. Free before it tells, this thread gets what follows."""
        job = self._rested(inbox)
        while job is not None:
            job.run()
            waited = self._freed(inbox)
            job.tell()
            del job  # nothing is held while nothing is done
            job = waited or self._rested(inbox)
            del waited
        inbox.close()

    def _freed(self, inbox: Inbox) -> Job | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if self._ending:
                del self._threads[inbox]
                inbox.put(None)
            else:
                self._idle.append(inbox)
        return None

    def _rested(self, inbox: Inbox) -> Job | None:
        """Return the next job; None: there was none for long, or there is none any more."""
        while True:
            with suppress(TimeoutError):
                return inbox.get()
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    del self._threads[inbox]
                    return None

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
