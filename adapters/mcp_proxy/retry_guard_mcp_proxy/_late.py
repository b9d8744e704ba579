"""A ledger that is told of a delivery only when the client has the answer."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from retry_guard_ledgers import about

if TYPE_CHECKING:
    from retry_guard_core import Now, Record
    from retry_guard_ledgers import Ledger


class Deliveries:
    """What one call would have noted, with the turn of its caller.

    `open`: the id of the record that it holds, or waits for; None: it has none yet. `met`: the
    record that counted for it last.
    """

    def __init__(self, turn: str | None) -> None:
        """Nothing yet."""
        self.turn = turn
        self.open: str | None = None
        self.met: Record | None = None
        self.noted: list[tuple[str, str]] = []


_HERE: ContextVar[Deliveries | None] = ContextVar("retry_guard_mcp_deliveries", default=None)


class LateLedger:
    """The ledger, but for `deliver`: that waits for `delivered`."""

    def __init__(self, ledger: "Ledger") -> None:
        """Stand in front of a ledger."""
        self._ledger = ledger
        self.now, self.save = ledger.now, ledger.save  # several times a call: not looked up anew

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    @contextmanager
    def deliveries(self, turn: str | None) -> Generator[Deliveries]:
        """Keep back what is noted for the caller's turn."""
        here = Deliveries(turn)
        token = _HERE.set(here)
        try:
            yield here
        finally:
            _HERE.reset(token)

    def claim(self, record: "Record", after: "Record | None", now: "Now") -> "Record":
        """Claim, and note which record counts."""
        known, here = self._ledger.claim(record, after, now), _HERE.get()
        if here is not None:
            here.met = known
            here.open = about(known).id if known.state == "open" else here.open
        return known

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Keep it back; what is noted for another turn than the caller's is no delivery to it."""
        here = _HERE.get()
        if here is None or here.turn != turn:
            self._ledger.deliver(scope, action, turn, back=back)
        elif back:
            here.noted = [noted for noted in here.noted if noted != (scope, action)]
        else:
            here.noted.append((scope, action))

    def delivered(self, here: Deliveries) -> None:
        """Note what was kept back. Raises `LedgerError`."""
        for scope, action in here.noted:
            self._ledger.deliver(scope, action, here.turn)
