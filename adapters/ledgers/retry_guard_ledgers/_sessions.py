"""Which thread of which process has which connection to a SQLite ledger.

Each thread has one. When it ends it leaves it to a thread that begins: some harnesses run every
call in a thread of its own, and to connect costs several times what a call does.
"""

import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from retry_guard_ledgers._failures import failure
from retry_guard_ledgers._files import exists
from retry_guard_ledgers._forks import QuietLock, gate, identity
from retry_guard_ledgers._protocol import LedgerError
from retry_guard_ledgers._session import Level, Options, Session, journal_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SPARE = 8  # connections: as many calls as a model often makes at once


class Spares:
    """What threads of one process left behind, the latest first. It takes no lock."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.process = os.getpid()
        self._left: deque[Session] = deque(maxlen=SPARE)  # the oldest ones make room

    def take(self) -> Session | None:
        """Return a connection that no thread has; None: there is none."""
        try:
            return self._left.pop()
        except IndexError:
            return None

    def leave(self, session: Session) -> None:
        """Keep it for another thread, unless its last work broke off."""
        if session.sound:
            self._left.append(session)


class Hold:
    """A thread's hold on its session, which ends with the thread."""

    def __init__(self, session: Session, spares: Spares) -> None:
        """Hold it."""
        self._spares, self.session = spares, session

    def __del__(self) -> None:
        if hasattr(self, "session"):  # an interrupt may have come before
            self._spares.leave(self.session)


class Sessions:
    """Hands every thread its connection, and turns what SQLite reports into `LedgerError`."""

    def __init__(self, path: Path, options: Options) -> None:
        """Connect once, so that a ledger that cannot be used is refused here."""
        self.path, self._name = path, os.fspath(path)
        self._closed = False
        self._connecting(options)
        self._file = identity(self._name) if exists(path) else None
        self.journal: str = self.run("normal", journal_of)

    def _connecting(self, options: Options) -> None:
        """Start without connections; those that are made are made by these options."""
        self.options, self._durable = options, options.level == "full"
        self._local, self._anew = threading.local(), QuietLock()
        self._of_this_process()

    def beside(self, options: Options) -> "Sessions":
        """Return others to the same file, which connect by other options, once they are needed."""
        others = copy(self)
        others._connecting(options)  # noqa: SLF001 - of its own kind
        return others

    def _of_this_process(self) -> None:
        """Start without connections: those of a parent process are none of ours."""
        self._lock = threading.Lock()
        self._all: weakref.WeakSet[Session] = weakref.WeakSet()
        self._spares = Spares()

    def run(
        self, level: Level | None, work: Callable[[sqlite3.Connection, *Ts], T], *given: *Ts
    ) -> T:
        """Let `work` use this thread's connection, with commits of that level; None: it reads."""
        try:
            session = self._session()
            if gate.shut:
                self._let_it_fork()
            with session.lock:
                session.begin(level if self._durable or level is None else "normal")
                done = work(session.connection, *given)
                session.sound = True
                return done
        except sqlite3.Error as error:
            raise failure(self.path, error) from error
        except (OverflowError, UnicodeEncodeError) as error:
            raise LedgerError(f"the ledger {self.path} cannot keep a value: {error}") from error

    def _let_it_fork(self) -> None:
        """Wait until a process is forked off, unless these connections wait for nothing."""
        if not self.options.busy:
            raise LedgerError(f"the ledger {self.path} waits for a process to be forked off")
        gate.wait()

    def _session(self) -> Session:
        if self._closed:
            raise self._was_closed()
        if identity(self._name) != self._file or self._file is None:
            raise LedgerError(
                f"the ledger {self.path} was removed or replaced while in use: restore the file "
                "that was there, or start this program again; nothing was recorded"
            )
        hold: Hold | None = getattr(self._local, "hold", None)
        if hold is None or hold.session.process != os.getpid():
            hold = self._local.hold = self._held()
        return hold.session

    def _was_closed(self) -> LedgerError:
        return LedgerError(f"the ledger {self.path} was closed: open it again")

    def _held(self) -> Hold:
        """Return a connection for this thread: one that another left behind, or a new one."""
        with self._anew:
            if self._spares.process != os.getpid():
                self._of_this_process()
        spares = self._spares
        return Hold(spares.take() or self._connect(), spares)

    def _connect(self) -> Session:
        session = Session(self.path, self.options)
        with self._lock:
            if self._closed:
                session.close()
                raise self._was_closed()
            self._all.add(session)
        return session

    def close(self) -> None:
        """Close every connection of this process. Closing twice does nothing."""
        self._closed = True
        if self._spares.process != os.getpid():
            return
        with self._lock:
            for session in list(self._all):
                with session.lock:
                    session.close()
