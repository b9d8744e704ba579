"""A ledger in this process's memory: for tests, sandboxes, and calls that need no memory."""

import builtins
import logging
import secrets
from collections import defaultdict
from itertools import islice

from retry_guard_core import Now, Record
from retry_guard_ledgers._action import Action, about
from retry_guard_ledgers._clock import DRIFT, Clocks, Timekeeper, lengthened, machine_clocks
from retry_guard_ledgers._copies import changed
from retry_guard_ledgers._forks import QuietLock
from retry_guard_ledgers._protocol import Answer, may_save, take_over
from retry_guard_ledgers._rules import (
    KEEP_RESULT,
    Finding,
    check,
    check_seen,
    is_stale,
    one_of,
    recorded,
    resolved,
    saved,
    unknown,
)
from retry_guard_ledgers._shelf import Shelf

_log = logging.getLogger("retry_guard")


class MemoryLedger:
    """A `Ledger` that is lost with its process. Threads may share it; processes cannot.

    Says so once in the log, as a warning, since whoever calls again after a restart sends again.
    """

    durable = False

    def __init__(self, *, clocks: Clocks | None = None) -> None:
        """Start empty. `clocks`: raw clocks to read instead of the machine's."""
        self.secret = secrets.token_bytes(32)
        self._time = Timekeeper(clocks or machine_clocks())
        self._lock = QuietLock()
        self._records: dict[tuple[str, str], Record] = {}  # in the order of their first claims
        self._met: dict[tuple[bytes, tuple[str, str]], None] = {}
        self._places: dict[tuple[str, str], int] = {}
        self._shelves: defaultdict[tuple[str, bytes], Shelf] = defaultdict(Shelf)
        self._found: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        _log.warning("this ledger is in memory: its records do not survive this process")

    def now(self) -> Now:
        """Return the time of this process."""
        return self._time.now()

    def _agree(self, record: Record, now: Now) -> Record:
        """Set the steady clock anew if it drifted while nothing depends on it.

        Returns the record, which was stamped at `now`, with its lease as it is by that clock.
        """
        keeper = self._time
        drifts = keeper.drift(keeper.anchor) > DRIFT
        if not drifts or any(shelf.open is not None for shelf in self._shelves.values()):
            return record
        far = keeper.believable()
        times = (recorded(record) for record in self._records.values())
        keeper.anchor = keeper.fresh_anchor(max((t for t in times if t <= far), default=0.0))
        return lengthened(record, now, keeper.now())

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        """Return the record that counts; see `Ledger.claim`."""
        check(record)
        action = about(record)
        with self._lock:
            record = self._agree(record, now)
            shelf = self._shelves[action.scope, action.identity]
            if shelf.open is not None:
                counts = self._records[action.scope, shelf.open]
                expired = counts.lease < self._time.judging(now).earliest
                return self._put(take_over(counts, record)) if expired else counts
            name = shelf.latest(record.turn)
            if name is not None:
                counts = self._records[action.scope, name]
                if after is None or name != about(after).id:
                    mine = shelf.is_of(record.turn, name)
                    return changed(counts, turn=record.turn) if mine else counts
                if counts.answer == "again":
                    self._put(changed(counts, answer=None))
            shelf.answered(record.turn, action.id)
            return self._put(record)

    def known(self, record: Record) -> Record | None:
        """Return what a claim would be answered with; see `Ledger.known`."""
        action = about(record)
        with self._lock:
            shelf = self._shelves[action.scope, action.identity]
            name = shelf.open or shelf.latest(record.turn)
            if name is None:
                return None
            counts = self._records[action.scope, name]
            mine = counts.state != "open" and shelf.is_of(record.turn, name)
            return changed(counts, turn=record.turn) if mine else counts

    def save(self, record: Record) -> bool:
        """Store it if it may be; see `Ledger.save`."""
        check(record)
        with self._lock:
            stored = self._records.get((about(record).scope, about(record).id))
            if stored is None or not may_save(stored, record):
                return False
            self._put(saved(stored, record))
            return True

    def _put(self, record: Record) -> Record:
        """Keep a record, and all by which it is found."""
        action = about(record)
        place = action.scope, action.id
        before = self._records.get(place)
        self._records[place] = record
        self._places.setdefault(place, len(self._places))
        settled = before is not None and before.state != record.state
        self._shelves[action.scope, action.identity].put(record, settled=settled)
        if before is None or before.key != record.key or before.about is not action:
            self._index(record, action)
        return record

    def _index(self, record: Record, action: Action) -> None:
        """Note by which key and which effect the record is found."""
        if record.key is not None:
            self._found[action.scope, "key", record.key].add(action.id)
        if action.effect_id is not None:
            self._found[action.scope, "effect", action.effect_id].add(action.id)

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Note that a caller of this turn has the result, or take that back."""
        with self._lock:
            stored = self._records.get((scope, action))
            if stored is not None and stored.state == "done":
                shelf = self._shelves[scope, about(stored).identity]
                verb = shelf.take_back if back else shelf.deliver
                self._put(changed(stored, delivered=verb(turn, stored)))

    def renew(self, records: builtins.list[Record], lease: float) -> None:
        """Move the leases of open records that their owners still hold."""
        with self._lock:
            for record in records:
                stored = self._records.get((about(record).scope, about(record).id))
                if stored and stored.state == "open" and stored.owner == record.owner:
                    self._put(changed(stored, lease=lease))

    def get(self, scope: str, action: str) -> Record | None:
        """Return one record by its id."""
        with self._lock:
            return self._records.get((scope, action))

    def _place(self, record: Record) -> int:
        return self._places[about(record).scope, about(record).id]

    def find(
        self, scope: str, *, key: str | None = None, effect_id: str | None = None
    ) -> Record | None:
        """Return the latest record that used the key, or that is tied to the effect."""
        kind, what = one_of(key, effect_id)
        with self._lock:
            names = self._found.get((scope, kind, what), set())
            found = [self._records[scope, name] for name in names]
            if kind == "effect":
                found = [record for record in found if about(record).effect_id == what]
            return max(found, key=self._place, default=None)

    def newer(self, scope: str, record: Record) -> bool:
        """Whether another write to the record's resource was recorded after it."""
        with self._lock:
            if (scope, about(record).id) not in self._records:
                return False
            for other in reversed(self._records.values()):
                theirs = about(other)
                if (theirs.scope, theirs.id) == (scope, about(record).id):
                    return False
                if (theirs.scope, theirs.resource) == (scope, about(record).resource):
                    return True
        return False

    def list(
        self, scope: str | None = None, state: str | None = None, older_than: float | None = None
    ) -> builtins.list[Record]:
        """Return records, the oldest first; see `Ledger.list`."""
        with self._lock:
            return [
                record
                for record in self._records.values()
                if scope in (None, about(record).scope)
                and state in (None, record.state)
                and (older_than is None or record.claimed < older_than)
            ]

    def begun(self, after: int | None) -> tuple[int, builtins.list[Record]]:
        """Return how many were ever begun, and the open ones of the later; see `Ledger.begun`."""
        with self._lock:
            count = len(self._records)
            later = count if after is None else after
            latest = builtins.list(islice(reversed(self._records.values()), max(count - later, 0)))
            return count, [record for record in reversed(latest) if record.state == "open"]

    def meet(self, scope: str, action: str, identity: bytes) -> None:
        """Note that a call of another identity was refused for this record."""
        with self._lock:
            self._met[identity, (scope, action)] = None

    def met(self, scope: str, tool: str) -> builtins.list[tuple[bytes, Record]]:
        """Return what was noted of a tool's records; see `Ledger.met`."""
        with self._lock:
            found = [(name, self._records[at]) for name, at in self._met if at in self._records]
            return [one for one in found if (about(one[1]).scope, one[1].tool) == (scope, tool)]

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
        with self._lock:
            stored = self._records.get((scope, action))
            if stored is None:
                raise unknown(scope, action)
            check_seen(stored, seen)
            now = self._time.judging(now)
            return self._put(resolved(stored, answer, now=now, value=value, final=final))

    def prune(self, now: Now, keep_result: float = KEEP_RESULT) -> int:
        """Drop results that a caller had and that are older than so many seconds.

        The fact that it was done stays. Returns how many were dropped.
        """
        with self._lock:
            stale = [r for r in self._records.values() if is_stale(r, now, keep_result)]
            for record in stale:
                self._put(changed(record, value=None))
            return len(stale)

    def health(self) -> builtins.list[Finding]:
        """Say what a memory ledger is good for."""
        return [Finding("durable", well=False, text="in memory: lost when the process ends")]

    def close(self) -> None:
        """Do nothing: the records are there as long as the ledger is."""
