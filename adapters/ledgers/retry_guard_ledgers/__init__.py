"""Where records are kept: in memory, in SQLite."""

from retry_guard_ledgers._action import SCHEME, Action, about, account_of, as_observed, is_observed
from retry_guard_ledgers._copies import changed
from retry_guard_ledgers._memory import MemoryLedger
from retry_guard_ledgers._protocol import (
    Answer,
    ChangedError,
    HeldError,
    Ledger,
    LedgerError,
    LedgerURLError,
    Prompt,
    may_save,
    take_over,
)
from retry_guard_ledgers._rules import Finding, mark
from retry_guard_ledgers._sqlite import SQLiteLedger
from retry_guard_ledgers._urls import (
    NoLedgerError,
    OpenedLedger,
    beside,
    ledger_url,
    open_ledger,
)

__all__ = [
    "SCHEME",
    "Action",
    "Answer",
    "ChangedError",
    "Finding",
    "HeldError",
    "Ledger",
    "LedgerError",
    "LedgerURLError",
    "MemoryLedger",
    "NoLedgerError",
    "OpenedLedger",
    "Prompt",
    "SQLiteLedger",
    "about",
    "account_of",
    "as_observed",
    "beside",
    "changed",
    "is_observed",
    "ledger_url",
    "mark",
    "may_save",
    "open_ledger",
    "take_over",
]
