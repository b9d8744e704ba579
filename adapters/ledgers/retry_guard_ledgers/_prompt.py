"""What a SQLite ledger does without waiting: for an event loop, which a thread would cost more."""

from dataclasses import replace

from retry_guard_core import Record
from retry_guard_ledgers import _verbs
from retry_guard_ledgers._places import Places
from retry_guard_ledgers._protocol import LedgerError
from retry_guard_ledgers._rules import check
from retry_guard_ledgers._sessions import Sessions


class SQLitePrompt:
    """A `Prompt`, on connections that wait for no lock and never tidy up the write-ahead log.

    What they commit is in the log, so it outlives the process, and is durable with the next commit
    that is. Only what is written first after the log was tidied up waits for the disk, once in
    some hundred calls: SQLite begins it anew with a sync.
    """

    def __init__(self, sessions: Sessions, places: Places) -> None:
        """Connect to the same file, but not yet."""
        own = replace(sessions.options, busy=0.0, level="normal", checkpoint=0)
        self._sessions, self._places = sessions.beside(own), places

    def save(self, record: Record) -> bool:
        """Store a record that has ended, if it may be; see `Ledger.save`."""
        check(record)
        if record.state == "open":
            raise LedgerError("an open record must be durable, which takes waiting: nothing stored")
        return self._sessions.run("normal", _verbs.save, self._places, record)

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Note that a caller of this turn has the result, or take that back."""
        verb = _verbs.take_back if back else _verbs.deliver
        self._sessions.run("normal", verb, self._places, scope, action, turn)

    def close(self) -> None:
        """Close its connections."""
        self._sessions.close()
