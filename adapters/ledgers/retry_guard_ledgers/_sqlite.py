"""A ledger in one SQLite file, which any number of threads and processes of a machine share."""

import builtins
import logging
import os
import sqlite3
from math import inf

from retry_guard_core import Now, Record
from retry_guard_ledgers import _verbs
from retry_guard_ledgers._anchors import follow, shared_anchor
from retry_guard_ledgers._clock import Clocks, Timekeeper, lengthened, machine_clocks
from retry_guard_ledgers._files import exists, make, whole_path
from retry_guard_ledgers._health import health
from retry_guard_ledgers._network import network_file_system
from retry_guard_ledgers._places import Places
from retry_guard_ledgers._prompt import SQLitePrompt
from retry_guard_ledgers._protocol import Answer
from retry_guard_ledgers._rules import KEEP_RESULT, Finding, check
from retry_guard_ledgers._session import Level, Options
from retry_guard_ledgers._sessions import Sessions

_log = logging.getLogger("retry_guard")

_SLOW = (
    "the ledger %s is on %s: no write-ahead log there, so every record takes longer; better keep "
    "it on a local disk"
)

LOOK_AGAIN = 1.0
"""Seconds after which a claim asks again whether the shared anchor has drifted."""
LOOK_LATER = 60.0
"""The same, while the time is held up until the calendar has caught up with it."""


class SQLiteLedger:
    """A `Ledger` in a SQLite file, made where there is none, in a folder that exists.

    Whatever must be durable is on the disk on return: one sync for a call that sends once.
    Raises `LedgerError` for a file that is no ledger, cannot be written, is damaged, or was made
    by a newer version; nothing is ever repaired or begun anew by itself.
    """

    durable = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Level = "full",
        busy: float = 8.0,
        vfs: str | None = None,
        clocks: Clocks | None = None,
    ) -> None:
        """Open the ledger, or make it.

        `synchronous="normal"`: a power cut may lose the latest records, a crash of the process
        none. `busy`: seconds to wait for another process's lock. `vfs`: which of SQLite's file
        systems to use. `clocks`: raw clocks to read instead of the machine's.
        """
        self.path = whole_path(path)
        network = network_file_system(self.path.parent)
        options = Options(busy, synchronous, vfs, "delete" if network else "wal")
        if not exists(self.path):
            make(self.path, vfs, options.journal)
        self._sessions = Sessions(self.path, options)
        if self._sessions.journal != "wal":
            _log.warning(_SLOW, self.path, network or "a file system without shared memory")
        self._places = Places()
        self._prompt = SQLitePrompt(self._sessions, self._places)
        self.secret: bytes = self._sessions.run("normal", _verbs.secret)
        self._time = Timekeeper(clocks or machine_clocks())
        self._look_at = -inf
        self._sessions.run("full", self._agree)

    @property
    def prompt(self) -> SQLitePrompt | None:
        """What it does without waiting; None: without a write-ahead log each commit waits."""
        return self._prompt if self._sessions.journal == "wal" else None

    def _agree(self, db: sqlite3.Connection) -> None:
        """Use the anchor that all processes share; at times, look whether another is due."""
        keeper, steady = self._time, self._time.clocks.steady()
        if steady > self._look_at:
            keeper.anchor = shared_anchor(db, keeper)
            self._look_at = steady + (LOOK_LATER if keeper.is_ahead() else LOOK_AGAIN)
        else:
            follow(db, keeper)

    def now(self) -> Now:
        """Return the ledger's time. Never fails, and touches no file."""
        return self._time.now()

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        """Return the record that counts; see `Ledger.claim`."""
        check(record)
        return self._sessions.run("full", self._claim, record, after, now)

    def _claim(
        self, db: sqlite3.Connection, record: Record, after: Record | None, now: Now
    ) -> Record:
        """Claim it, its lease as long by the anchor of this moment as by the one it was made by."""
        anchor = self._time.anchor
        self._agree(db)
        if self._time.anchor != anchor:
            record = lengthened(record, now, self._time.now())
        return _verbs.claim(db, self._places, self._time, record, after, now)

    def known(self, record: Record) -> Record | None:
        """Return what a claim would be answered with; see `Ledger.known`."""
        return self._sessions.run(None, _verbs.known, self._places, record)

    def save(self, record: Record) -> bool:
        """Store it if it may be; see `Ledger.save`."""
        check(record)
        level: Level = "full" if record.state == "open" else "normal"
        return self._sessions.run(level, _verbs.save, self._places, record)

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Note that a caller of this turn has the result, or take that back."""
        verb = _verbs.take_back if back else _verbs.deliver
        self._sessions.run("normal", verb, self._places, scope, action, turn)

    def renew(self, records: builtins.list[Record], lease: float) -> None:
        """Move the leases of open records that their owners still hold."""
        self._sessions.run("normal", _verbs.renew, self._places, records, lease)

    def get(self, scope: str, action: str) -> Record | None:
        """Return one record by its id."""
        return self._sessions.run(None, _verbs.get, self._places, scope, action)

    def find(
        self, scope: str, *, key: str | None = None, effect_id: str | None = None
    ) -> Record | None:
        """Return the latest record that used the key, or that is tied to the effect."""
        return self._sessions.run(None, _verbs.find, scope, key, effect_id)

    def newer(self, scope: str, record: Record) -> bool:
        """Whether another write to the record's resource was recorded after it."""
        return self._sessions.run(None, _verbs.newer, self._places, scope, record)

    def list(
        self, scope: str | None = None, state: str | None = None, older_than: float | None = None
    ) -> builtins.list[Record]:
        """Return records, the oldest first; see `Ledger.list`."""
        return self._sessions.run(None, _verbs.listed, scope, state, older_than)

    def begun(self, after: int | None) -> tuple[int, builtins.list[Record]]:
        """Return how many were ever begun, and the open ones of the later; see `Ledger.begun`."""
        return self._sessions.run(None, _verbs.begun, after)

    def meet(self, scope: str, action: str, identity: bytes) -> None:
        """Note that a call of another identity was refused for this record."""
        self._sessions.run("normal", _verbs.meet, self._places, scope, action, identity)

    def met(self, scope: str, tool: str) -> builtins.list[tuple[bytes, Record]]:
        """Return what was noted of a tool's records; see `Ledger.met`."""
        return self._sessions.run("normal", _verbs.met, scope, tool)

    def resolve(
        self,
        scope: str,
        action: str,
        answer: Answer,
        *,
        now: Now,
        value: bytes | None = None,
        final: bool = False,
        seen: Record | None = None,
    ) -> Record:
        """Store an operator's answer; see `Ledger.resolve`."""
        return self._sessions.run(
            "full",
            _verbs.resolve,
            self._places,
            self._time,
            scope,
            action,
            answer,
            now,
            value,
            final,
            seen,
        )

    def prune(self, now: Now, keep_result: float = KEEP_RESULT) -> int:
        """Drop results that a caller had and that are older than so many seconds.

        The fact that it was done stays. Returns how many were dropped.
        """
        return self._sessions.run("normal", _verbs.prune, now, keep_result)

    def health(self) -> builtins.list[Finding]:
        """Look at the file, write to it and check it; nothing is left behind."""
        return health(self._sessions, self._time)

    def close(self) -> None:
        """Close every connection that this process has. Closing twice does nothing."""
        self._prompt.close()
        self._sessions.close()
