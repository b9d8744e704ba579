"""Open records of one scope and tool that are named otherwise than a contract would name them."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from retry_guard_contracts import (
    ArgumentError,
    Contract,
    decode,
    holds_sealed,
    identify,
    opened,
)
from retry_guard_core import Record
from retry_guard_ledgers import Action, about, account_of

if TYPE_CHECKING:
    from retry_guard._call import Call


class LookAlikes:
    """What was noted of them. `later`: how many came after the first look."""

    def __init__(self, contract: Contract, secret: bytes) -> None:
        """Note nothing yet."""
        self.contract, self.later, self._secret = contract, 0, secret
        self._renamed = defaultdict[bytes, set[str]](set)
        """Ids by the name that they would have."""
        self._keyed = defaultdict[bytes, set[str]](set)
        """The same, of what lacks its key, which may be an argument like any other now."""
        self._sealed: dict[str, Record] = {}
        """What keeps a secret only as a hash."""

    def note(self, record: Record) -> None:
        """Note a record, if it has another name than it would have today.

        What has no content is a preview, or the rest of a batch: it is named by another action.
        """
        action = about(record)
        arguments = _recorded(action)
        if record.tool != self.contract.tool or not record.content or arguments is None:
            return
        today = self._name(action, arguments)
        if today is not None and today != action.identity:
            self._renamed[today].add(action.id)
        if action.contract == self.contract.digest:
            return
        if today is not None and record.key is not None:
            self._keyed[today].add(action.id)
        if holds_sealed(arguments):
            self._sealed[action.id] = record

    def of(self, call: "Call") -> set[str]:
        """Return the ids of those that may be this call's action."""
        found = set(self._renamed.get(about(call.draft).identity, ()))
        for name in self._unkeyed(call) if self._keyed else ():
            found |= self._keyed.get(name, frozenset())
        return found | {name for name, one in self._sealed.items() if self._is_like(call, one)}

    def forget(self, name: str) -> None:
        """Forget one, which has ended."""
        self._sealed.pop(name, None)
        for names in (self._renamed, self._keyed):
            for to in [to for to, some in names.items() if name in some]:
                names[to].discard(name)

    def _unkeyed(self, call: "Call") -> Iterator[bytes]:
        """The names of a call, if one of its arguments were a key: without it, or with none."""
        given, action = call.arguments, about(call.draft)
        for name in given:
            rest = {to: one for to, one in given.items() if to != name}
            for likely in (rest, {**given, name: ""}):
                today = self._name(action, likely)
                if today is not None and today != action.identity:
                    yield today

    def _is_like(self, call: "Call", record: Record) -> bool:
        action, its = about(call.draft), about(record)
        held = opened(_recorded(its) or {}, call.arguments, self._secret)
        today = None if held is None else self._name(its, held)
        return today == action.identity != its.identity

    def _name(self, action: Action, arguments: dict[str, Any]) -> bytes | None:
        """The name that an action would have today with these; None: they cannot be named."""
        scope, secret, ordinal = account_of(action), self._secret, action.ordinal
        try:
            return identify(
                self.contract, arguments, scope=scope, secret=secret, ordinal=ordinal
            ).identity
        except ArgumentError:
            return None


def _recorded(action: Action) -> dict[str, Any] | None:
    try:
        held: dict[str, Any] = decode(action.arguments)
    except ArgumentError:
        return None
    return held
