"""One thread for each guard in a process keeps the leases of its running calls."""

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
    caller investigates. A ledger that fails is tried again at the next beat. The thread ends
    when it finds nothing to keep, and starts with the next call.
    """

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Start no thread yet."""
        self._ledger, self._policy = ledger, policy
        self._forget()

    def _forget(self) -> None:
        """Hold nothing, with fresh locks: those of a parent process may be held for ever."""
        self._pid, self._beating = os.getpid(), False
        self._held: dict[str, tuple[float, Record]] = {}
        self._lock, self._renewing = threading.Lock(), threading.Lock()

    def hold(self, record: Record) -> None:
        """Keep this record's lease from now on."""
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            self._held[record.owner] = (time.monotonic(), record)
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="retry-guard", daemon=True).start()

    def drop(self, owner: str) -> None:
        """Stop keeping what this owner holds."""
        with self._lock:
            self._held.pop(owner, None)

    def release(self, owner: str) -> None:
        """Stop keeping it, and return once no renewal of it can come any more."""
        self.drop(owner)
        with self._renewing:
            pass

    def _beat(self) -> None:
        while True:
            time.sleep(self._policy.lease / 3)
            with self._renewing:
                since = time.monotonic() - self._policy.max_attempt
                with self._lock:
                    due = [record for began, record in self._held.values() if began >= since]
                    if not self._held:
                        self._beating = False
                        return
                if due:
                    self._renew(due)

    def _renew(self, records: list[Record]) -> None:
        try:
            self._ledger.renew(records, self._ledger.now().latest + self._policy.lease)
        except Exception as error:  # noqa: BLE001 - the next beat tries again, whatever it was
            names = ", ".join(about(record).id for record in records)
            why = error if isinstance(error, LedgerError) else type(error).__name__
            _log.warning("the leases of %s could not be renewed: %s", names, why)
