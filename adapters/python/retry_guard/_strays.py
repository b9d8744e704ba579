"""Unresolved actions that were named otherwise than they would be today.

A contract that changes (its identity, defaults, resource), another secret or another scheme gives
the same call another name, and a record that is still open under the old one would not be met.
It may change while a guard lives, and another guard may go by another one at the same time.
"""

import threading
from typing import TYPE_CHECKING

from retry_guard._look_alikes import LookAlikes
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, about

if TYPE_CHECKING:
    from retry_guard._call import Call

Place = tuple[str, str]
"""Scope and tool."""

_MANY = 1000
"""Records that came later, after which all that is open is looked at anew: most have ended."""


class StrayError(Exception):
    """A call would be met by an open record, had that the name that it would have today."""

    def __init__(self, record: Record) -> None:
        """Keep the record."""
        super().__init__()
        self.record = record


class Strays:
    """Finds such a record, so that an equal call does not send what may have happened.

    It looks at all that is open of a scope and tool once, and again by each other contract; at
    what was recorded since, by whichever guard, each time. What keeps a secret as a hash, and was
    recorded under another secret of the guard, cannot be met.
    """

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        """Look at nothing yet."""
        self._ledger, self._secret = ledger, secret
        self._lock = threading.Lock()
        self._looks: dict[Place, LookAlikes] = {}
        self._until: int | None = None

    def heed(self, call: "Call") -> None:
        """Raise `StrayError` where an open record would have met this call, named as today."""
        scope = about(call.draft).scope
        with self._lock:
            look = self._look(call, scope)
            names = look.of(call)
        for name in names:
            record = self._ledger.get(scope, name)
            if record is not None and record.state == "open":
                raise StrayError(record)
            with self._lock:
                look.forget(name)

    def _look(self, call: "Call", scope: str) -> LookAlikes:
        """What is open of this scope and tool, as of now, by the contract of this call."""
        self._catch_up()
        place = scope, call.contract.tool
        look = self._looks.get(place)
        is_old = look is None or look.contract.digest != call.contract.digest
        if look is None or is_old or look.later > _MANY:
            look = LookAlikes(call.contract, self._secret)
            for record in self._ledger.list(scope, state="open"):
                look.note(record)
            self._looks[place] = look
        return look

    def _catch_up(self) -> None:
        """Look at what was recorded since the last time."""
        self._until, later = self._ledger.begun(self._until)
        for record in later:
            look = self._looks.get((about(record).scope, record.tool))
            if look is not None:
                look.note(record)
                look.later += 1
