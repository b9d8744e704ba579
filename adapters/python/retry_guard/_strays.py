"""Unresolved actions that were named otherwise than they would be today.

A contract that changes (its identity, defaults, resource), another secret or another scheme gives
the same call another name, and a record that is still open under the old one would not be met.
"""

import threading

from retry_guard_contracts import ArgumentError, Contract, decode, identify
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, about

Place = tuple[str, str]
"""Scope and tool."""


class Strays:
    """Finds such a record, so that an equal call does not send what may have happened.

    It looks once for each scope and tool: what is recorded later is named as this guard names it.
    What the record keeps only as a hash (`secret` fields that name the effect) cannot be met.
    """

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        """Look at nothing yet."""
        self._ledger, self._secret = ledger, secret
        self._lock = threading.Lock()
        self._found: dict[Place, dict[bytes, str]] = {}

    def settled(self, scope: str, tool: str) -> bool:
        """Whether it is known that there are none."""
        return self._found.get((scope, tool)) == {}

    def met(self, contract: Contract, draft: Record) -> Record | None:
        """Return the open record that this call would have been met by, under its old name."""
        action, place = about(draft), (about(draft).scope, contract.tool)
        with self._lock:
            if place not in self._found:
                self._found[place] = self._renamed(contract, action.scope)
            name = self._found[place].get(action.identity)
        record = None if name is None else self._ledger.get(action.scope, name)
        if record is not None and record.state == "open":
            return record
        with self._lock:
            self._found[place].pop(action.identity, None)
        return None

    def _renamed(self, contract: Contract, scope: str) -> dict[bytes, str]:
        """The ids of open records by today's identity, where that is not their own."""
        found: dict[bytes, str] = {}
        for record in self._ledger.list(scope, state="open"):
            action = about(record)
            if record.tool == contract.tool:
                today = self._identity(contract, scope, action.arguments, action.ordinal)
                if today not in (None, action.identity):
                    found[today or b""] = action.id
        return found

    def _identity(
        self, contract: Contract, scope: str, arguments: bytes, ordinal: int
    ) -> bytes | None:
        try:
            recorded = decode(arguments)
            named = identify(contract, recorded, scope=scope, secret=self._secret, ordinal=ordinal)
        except ArgumentError:
            return None
        return named.identity
