"""One thread in a process keeps the leases of its running calls."""

import logging
import os
import threading
import time

from retry_guard._policy import Policy
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, LedgerError, about

_log = logging.getLogger("retry_guard")


class Heartbeat:
    """Renews the lease of every call that runs here, each third of a lease.

    A call that has run for `max_attempt` is renewed no more: its lease runs out, and the next
    caller investigates. A ledger that fails is tried again at the next beat.
    """

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Start no thread yet."""
        self._ledger, self._policy = ledger, policy
        self._held: dict[str, tuple[float, Record]] = {}
        self._lock = threading.Lock()
        self._pid = 0

    def hold(self, record: Record) -> None:
        """Keep this record's lease from now on."""
        with self._lock:
            self._held[record.owner] = (time.monotonic(), record)
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._held = {record.owner: self._held[record.owner]}
                threading.Thread(target=self._beat, name="retry-guard", daemon=True).start()

    def drop(self, owner: str) -> None:
        """Stop keeping what this owner holds."""
        with self._lock:
            self._held.pop(owner, None)

    def _beat(self) -> None:
        while True:
            time.sleep(self._policy.lease / 3)
            since = time.monotonic() - self._policy.max_attempt
            with self._lock:
                due = [record for began, record in self._held.values() if began >= since]
            if due:
                self._renew(due)

    def _renew(self, records: list[Record]) -> None:
        try:
            self._ledger.renew(records, self._ledger.now().latest + self._policy.lease)
        except LedgerError as error:
            names = ", ".join(about(record).id for record in records)
            _log.warning("the leases of %s could not be renewed: %s", names, error)
