"""What can be read of a ledger, also where a row of it is damaged."""

from retry_guard_core import Record
from retry_guard_ledgers import LedgerError, OpenedLedger

STATES = ("open", "done", "not_executed", "abandoned")


def readable_records(
    ledger: OpenedLedger, scope: str | None, state: str | None = None
) -> tuple[list[Record], list[str]]:
    """Return the records, the oldest first, and what is wrong, each in one line.

    A ledger lists all or nothing. Where it cannot list all, each state is tried by itself, so
    that damage to what ended long ago does not hide what is unresolved.
    """
    try:
        return ledger.list(scope, state), []
    except LedgerError as error:
        whole = str(error)
    read: list[Record] = []
    wrong: dict[str, list[str]] = {}
    states = STATES if state is None else (state,)
    for one in states:
        try:
            read += ledger.list(scope, one)
        except LedgerError as error:
            wrong.setdefault(str(error), []).append(one)
    said = [f"{text}; left out: all that is {' or '.join(ones)}" for text, ones in wrong.items()]
    return read, said if read or len(said) > 1 else [whole]
