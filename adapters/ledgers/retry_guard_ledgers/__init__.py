"""Where records are kept: in memory, in SQLite."""

from retry_guard_ledgers._memory import MemoryLedger
from retry_guard_ledgers._protocol import (
    SCHEME,
    Action,
    Answer,
    Ledger,
    LedgerError,
    LedgerURLError,
    about,
    may_save,
    take_over,
)
from retry_guard_ledgers._rules import Finding

__all__ = [
    "SCHEME",
    "Action",
    "Answer",
    "Finding",
    "Ledger",
    "LedgerError",
    "LedgerURLError",
    "MemoryLedger",
    "about",
    "may_save",
    "take_over",
]
