"""Where records are kept: in memory, in SQLite."""

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

__all__ = [
    "SCHEME",
    "Action",
    "Answer",
    "Ledger",
    "LedgerError",
    "LedgerURLError",
    "about",
    "may_save",
    "take_over",
]
