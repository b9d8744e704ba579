"""A ledger in this process's memory: for tests, sandboxes, and calls that need no memory."""

import builtins
import logging
import secrets
import threading
from collections import defaultdict
from dataclasses import replace

from retry_guard_core import Now, Record
from retry_guard_ledgers._clock import Clocks, Timekeeper, machine_clocks
from retry_guard_ledgers._protocol import Action, Answer, about, may_save, take_over
from retry_guard_ledgers._rules import (
    KEEP_RESULT,
    Finding,
    is_live,
    only_one,
    resolved,
    saved,
    stored_value,
    unknown,
)

_log = logging.getLogger("retry_guard")

_Name = tuple[str, str]
_Identity = tuple[str, bytes]


class MemoryLedger:
    """A `Ledger` that is lost with its process. Threads may share it; processes cannot.

    Says so once in the log, as a warning, since whoever calls again after a restart sends again.
    """

    durable = False

    def __init__(self, *, clocks: Clocks | None = None) -> None:
        """Start empty. `clocks`: for tests, the raw clocks to read."""
        self.secret = secrets.token_bytes(32)
        self._time = Timekeeper(clocks or machine_clocks())
        self._lock = threading.RLock()
        self._records: dict[_Name, Record] = {}  # in the order in which they were recorded
        self._ended: defaultdict[_Identity, list[_Name]] = defaultdict(list)  # as they ended
        self._live: defaultdict[_Identity, list[_Name]] = defaultdict(list)
        self._turns: defaultdict[tuple[_Identity, str], set[_Name]] = defaultdict(set)
        self._keys: defaultdict[_Name, list[_Name]] = defaultdict(list)
        _log.warning("this ledger is in memory: its records do not survive this process")

    def now(self) -> Now:
        """Return the time of this process."""
        return self._time.now()

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        """Return the record that counts; see `Ledger.claim`."""
        action = about(record)
        stored_value(record)
        with self._lock:
            counts = self._counts(action, record.turn)
            if counts is not None and counts.state == "open":
                if counts.lease >= now.earliest:
                    return counts
                return self._put(take_over(counts, record))
            if counts is not None and (after is None or about(counts).id != about(after).id):
                return counts
            if counts is not None and counts.answer == "again":
                stored = self._records[_name(counts)]
                self._put(replace(stored, answer=None))
            if record.turn is not None:
                self._turns[_identity(action), record.turn].add(_name(record))
            return self._put(record)

    def _counts(self, action: Action, turn: str | None) -> Record | None:
        """Find what answers a claim, in the order that `Ledger.claim` states."""
        identity = _identity(action)
        live = [self._records[name] for name in self._live[identity]]
        for record in live:
            if record.state == "open":
                return record
        mine = set[_Name]() if turn is None else self._turns[identity, turn]
        ended, waiting = self._ended[identity], {_name(record) for record in live}
        if not ended:
            return None
        hits = mine | waiting
        name = next((name for name in reversed(ended) if name in hits), ended[-1])
        found = self._records[name]
        return replace(found, turn=turn) if name in mine else found

    def save(self, record: Record) -> bool:
        """Store it if it may be; see `Ledger.save`."""
        stored_value(record)
        with self._lock:
            stored = self._records.get(_name(record))
            if stored is None or not may_save(stored, record):
                return False
            self._put(saved(stored, record))
            return True

    def _put(self, record: Record) -> Record:
        """Keep a record and everything by which it is found."""
        name, identity = _name(record), _identity(about(record))
        before = self._records.get(name)
        self._records[name] = record
        if record.state != "open" and (before is None or before.state != record.state):
            self._ended[identity] = [*(n for n in self._ended[identity] if n != name), name]
        self._live[identity] = [n for n in self._live[identity] if n != name]
        if is_live(record):
            self._live[identity].append(name)
        for use in (record.key, about(record).effect_id):
            pass
        if record.key is not None and name not in self._keys[name[0], record.key]:
            self._keys[name[0], record.key].append(name)
        return record

    def deliver(self, scope: str, action: str, turn: str | None) -> None:
        """Note that a caller of this turn has the result."""
        with self._lock:
            stored = self._records.get((scope, action))
            if stored is None:
                return
            if turn is not None:
                self._turns[_identity(about(stored)), turn].add((scope, action))
            self._put(replace(stored, delivered=True))

    def renew(self, records: list[Record], lease: float) -> None:
        """Move the leases of open records that their owners still hold."""
        with self._lock:
            for record in records:
                stored = self._records.get(_name(record))
                if stored and stored.state == "open" and stored.owner == record.owner:
                    self._put(replace(stored, lease=lease))

    def get(self, scope: str, action: str) -> Record | None:
        """Return one record by its id."""
        with self._lock:
            return self._records.get((scope, action))
