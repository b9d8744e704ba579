"""What every ledger does, and the two rules that all of them share.

LedgerError          the ledger cannot be used; the write that needed it was not sent
├── LedgerURLError   its address is wrong
├── HeldError        an answer was given to what a call holds now; it was not stored
└── ChangedError     an answer was given to what a record is no more; it was not stored
"""

import builtins
from typing import Literal, Protocol

from retry_guard_core import GuardError, Now, Record
from retry_guard_ledgers._action import about
from retry_guard_ledgers._copies import changed

Answer = Literal["happened", "did_not_happen", "again", "abandon"]


class LedgerError(GuardError):
    """The ledger cannot be read or written. The message says what to do."""


class LedgerURLError(LedgerError):
    """The address names no ledger that can be opened."""


class ChangedError(LedgerError):
    """A record has changed since whoever answers has seen it, so nothing was stored."""


class HeldError(LedgerError):
    """A live call holds the record, so an answer to it has to wait until that ends."""


def take_over(record: Record, claim: Record) -> Record:
    """Return an open record, whose lease is out, as held by the owner of `claim`.

    A send that never ended counts as ended when its holder's lease did. What was seen is looked
    at afresh, but that the server ignores the key, or that the rest of a batch is an action of its
    own, stays true.
    """
    ids = dict.fromkeys((*about(record).call_ids, *about(claim).call_ids))
    return changed(
        record,
        owner=claim.owner,
        claimed=claim.claimed,
        lease=claim.lease,
        tries=0,
        seen=record.seen if record.seen in ("ignored", "split") else None,
        ended=record.lease if record.ended is None else record.ended,
        about=changed(about(record), call_ids=tuple(ids)),
    )


def may_save(stored: Record, new: Record) -> bool:
    """Whether a save is accepted: from the holder of an open record, or of what is now done.

    `done` is accepted from any attempt, also late, also from one who lost the lease, since it
    is a fact; everything else needs the current lease.
    """
    if new.state == "done":
        return stored.state != "done"
    return stored.state == "open" and stored.owner == new.owner


class Prompt(Protocol):
    """What a ledger does without waiting, for a thread that must not: that of an event loop.

    A ledger may have one, as `prompt`; it is None where it has none for now. Each verb is the
    ledger's own, and raises `LedgerError`, with nothing done, also where it would have to wait,
    such as for another's lock: then that is to be left to the ledger, in another thread.
    """

    def save(self, record: Record) -> bool:
        """Store a record that has ended, if `may_save`; return whether it was."""
        ...

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Note that a caller of this turn has the result, or take that back."""
        ...


class Ledger(Protocol):
    """Where records are kept. Every verb is atomic; every one raises `LedgerError` if it fails.

    A record belongs to its scope: no verb shows or changes one of another scope.
    At most one record of a scope and identity is open at any time.
    """

    @property
    def durable(self) -> bool:
        """Whether records outlive the process."""
        ...

    @property
    def secret(self) -> bytes:
        """At least 32 random bytes, made with the ledger and kept in it: the default HMAC key."""
        ...

    def now(self) -> Now:
        """Return the ledger's time: the same for every process that uses it."""
        ...

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        """Return the record that counts for this scope and identity; durable on return.

        In this order: the open one (taken over if its lease ended before `now.earliest`, and has
        ended also by the ledger's time at this moment, should that have been set anew); of
        those that ended, the latest that answered a call of the same turn (where `record.turn` is
        not None) or is done and undelivered; the latest that ended; else, or if what would be
        returned is `after`, `record` itself, inserted, which uses up an `again` on `after`.
        A record that answered this turn is returned with this turn, whichever turn began it.
        """
        ...

    def known(self, record: Record) -> Record | None:
        """Return what a claim of it, after nothing, would be answered with; None: with itself.

        Nothing is changed: a lease that has ended is left as it is.
        """
        ...

    def save(self, record: Record) -> bool:
        """Store it, if `may_save`; return whether it was.

        Durable on return if the record stays open, since a send may follow. Scope, id, identity,
        content, arguments and turn never change; the key changes only with the generation.
        A late `done` changes only what says that it is done: state, value, `settled_at`.
        """
        ...

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Note that a caller of this turn has the result. Need not be durable.

        `back`: undo what that noted, since the result did not reach the caller; what other turns
        have stays. The callers of one turn count as one.
        """
        ...

    def renew(self, records: list[Record], lease: float) -> None:
        """Move the leases of open records that their owners still hold. Need not be durable."""
        ...

    def get(self, scope: str, action: str) -> Record | None:
        """Return one record by its id."""
        ...

    def find(
        self, scope: str, *, key: str | None = None, effect_id: str | None = None
    ) -> Record | None:
        """Return the latest record that used the key, or that is tied to the effect."""
        ...

    def newer(self, scope: str, record: Record) -> bool:
        """Whether another write to the record's resource was recorded after it."""
        ...

    def list(
        self, scope: str | None = None, state: str | None = None, older_than: float | None = None
    ) -> list[Record]:
        """Return records, the oldest first; `older_than`: claimed before that time.

        `scope=None` is for operators only.
        """
        ...

    def begun(self, after: int | None) -> tuple[int, builtins.list[Record]]:
        """Return how many records were ever begun, and which of them are still open.

        Of those that came later than the first `after`; None: of none. The oldest first.
        """
        ...

    def meet(self, scope: str, action: str, identity: bytes) -> None:
        """Note that a call of another identity was refused for this open record.

        So whatever an operator answers to it is an answer to that call too. Need not be durable.
        """
        ...

    def met(self, scope: str, tool: str) -> builtins.list[tuple[bytes, Record]]:
        """Return what was noted of a tool's records, each as it is now with the other identity."""
        ...

    def resolve(
        self,
        scope: str,
        action: str,
        answer: Answer,
        *,
        now: Now,
        value: bytes | None = None,
        final: bool = False,
        seen: Record | None = None,
    ) -> Record:
        """Store an operator's answer and return the record as it is then.

        `happened`: done, with that value, from any state but done. `did_not_happen`: noted with
        its time (`final`: for good), on an open record. `again`: one deliberate repeat, on an
        open or done record. `abandon`: an open record is given up.
        All but `happened` raise `HeldError` while a live call holds the record.
        `seen`: the record that the answer is given to; raises `ChangedError` if another answer,
        a send or an end has come since, so that of equal answers given at once one counts.
        """
        ...

    def close(self) -> None:
        """Release what is open. Closing twice does nothing."""
        ...
