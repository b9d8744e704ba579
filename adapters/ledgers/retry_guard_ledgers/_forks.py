"""Before a process forks, the connections of its ledgers are closed; both sides connect anew.

SQLite keeps in the process which locks it has. A child would take those of its parent's
connections for its own, lock nothing, and whoever then closes the last connection that is left
removes the write-ahead log under it.
"""

import os
import threading
import weakref
from typing import Protocol

PATIENCE = 30.0
"""Seconds that a fork waits for work on a connection to end: longer than any lock is waited for."""


class Parting(Protocol):
    """What has connections."""

    def part(self) -> list[threading.Lock]:
        """Close all connections; return what is locked, so that nobody connects before the fork."""
        ...


_all: weakref.WeakSet[Parting] = weakref.WeakSet()
_forking = threading.Lock()
_held: list[threading.Lock] = []


def known(parting: Parting) -> None:
    """Let it be told before each fork, for as long as it lives."""
    _all.add(parting)


def taken(lock: threading.Lock) -> bool:
    """Take a lock, in time."""
    return lock.acquire(timeout=PATIENCE)


def _before() -> None:
    if taken(_forking):
        _held.append(_forking)
    for each in list(_all):
        _held.extend(each.part())


def _after() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
