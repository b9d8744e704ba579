"""Unresolved actions that were named otherwise than they would be today.

A contract that changes (its identity, defaults, resource), another secret or another scheme gives
the same call another name, and a record that is still open under the old one would not be met.
It may change while a guard lives, and another guard may go by another one at the same time.
"""

import os
import threading
from typing import TYPE_CHECKING

from retry_guard._look_alikes import LookAlikes
from retry_guard_core import Record, decide
from retry_guard_ledgers import Ledger, about

if TYPE_CHECKING:
    from retry_guard._call import Call, Site

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
        self._forget()

    def _forget(self) -> None:
        """Know nothing: a thread of a parent process may have been in the midst of a look."""
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._looks: dict[Place, LookAlikes] = {}
        self._until: int | None = None

    def heed(self, call: "Call", site: "Site") -> Record | None:
        """Return the record by whose name the ledger has this call's action; None: by its own.

        That is one for which an equal call was refused, and to which an operator has answered
        since. Raises `StrayError` where one is open that nobody has answered.
        """
        if self._pid != os.getpid():
            self._forget()
        scope = about(call.draft).scope
        with self._lock:
            look = self._look(call, scope)
            names = look.of(call)
        known: list[Record] = []
        for name in names:
            record = self._ledger.get(scope, name)
            if record is not None and record.state == "open":
                self._meet(look, call, record)
                if not _is_cleared(record, call, site) or look.is_sealed(record):
                    raise StrayError(record)
            if record is not None and name in look.met:
                known.append(record)
            else:
                with self._lock:
                    look.forget(name)
        return max(known, key=lambda one: (one.state == "open", one.claimed), default=None)

    def elder(self, call: "Call", record: Record) -> StrayError | None:
        """Return why a record that a call has just begun may not be sent; None: it may.

        Another guard may have begun the action by its own name since `heed`: of two that are begun
        at the same moment the later one gives way.
        """
        scope, own = about(record).scope, about(record).id
        with self._lock:
            look = self._look(call, scope)
            names = look.of(call)
        for one in self._ledger.list(scope, state="open") if names else ():
            if about(one).id == own:
                return None
            if about(one).id in names:
                self._meet(look, call, one)
                return StrayError(one)
        return None

    def _meet(self, look: LookAlikes, call: "Call", record: Record) -> None:
        action, name = about(record), about(call.draft).identity
        if look.met.get(action.id) != name:
            self._ledger.meet(action.scope, action.id, name)
            with self._lock:
                look.meet(name, record)

    def as_is(self, call: "Call", record: Record) -> Record:
        """Return a record of another name as this call is to be compared with it."""
        with self._lock:
            return self._look(call, about(call.draft).scope).as_is(call, record)

    def _look(self, call: "Call", scope: str) -> LookAlikes:
        """What is open of this scope and tool, as of now, by the contract of this call."""
        self._catch_up()
        place = scope, call.contract.tool
        look = self._looks.get(place)
        is_old = look is None or look.contract.digest != call.contract.digest
        if look is None or is_old or look.later > _MANY:
            look = LookAlikes(call.contract, self._secret)
            for name, record in self._ledger.met(scope, call.contract.tool):
                look.meet(name, record)
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


def _is_cleared(record: Record, call: "Call", site: "Site") -> bool:
    """Whether an operator's answer lets it be sent anew."""
    verdict = decide(call.contract.terms, record, site.clock.now(), site.policy)
    return verdict.row == "cleared"
