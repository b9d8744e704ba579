"""Records of one scope and tool that are named otherwise than a contract would name them now."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from retry_guard_contracts import (
    ArgumentError,
    Contract,
    Identity,
    decode,
    holds_sealed,
    identify,
    opened,
)
from retry_guard_core import Record
from retry_guard_ledgers import Action, about, account_of, changed

if TYPE_CHECKING:
    from retry_guard._call import Call


class LookAlikes:
    """What was noted of them. `later`: how many came after the first look.

    `met`: those for which a call was refused, with the name of that call: they count also once
    they have ended, and what was recorded by this contract since bears their name.
    """

    def __init__(self, contract: Contract, secret: bytes) -> None:
        """Note nothing yet."""
        self.contract, self.later, self._secret = contract, 0, secret
        self._renamed = defaultdict[bytes, set[str]](set)
        """Ids by the name that they would have."""
        self._keyed = defaultdict[bytes, set[str]](set)
        """The same, of what lacks its key, which may be an argument like any other now."""
        self._sealed: dict[str, Record] = {}
        """What keeps a secret only as a hash."""
        self.met: dict[str, bytes] = {}
        self._aliases = set[tuple[bytes, bytes]]()

    def meet(self, name: bytes, record: Record) -> None:
        """Note that a call of that name was refused for a record."""
        action = about(record)
        self.met[action.id] = name
        self._renamed[name].add(action.id)
        self._aliases.add((name, action.identity))

    def note(self, record: Record) -> None:
        """Note a record, if it has another name than it would have today.

        What has no content is a preview, or the rest of a batch: it is named by another action.
        """
        action = about(record)
        arguments = _recorded(action)
        if record.tool != self.contract.tool or not record.content or arguments is None:
            return
        today = self._name(action, arguments)
        is_alias = today is not None and (today, action.identity) in self._aliases
        if is_alias and action.id not in self.met:
            return
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
            found |= self._keyed.get(name, set[str]())
        return found | {name for name, one in self._sealed.items() if self._is_like(call, one)}

    def as_is(self, call: "Call", record: Record) -> Record:
        """Return a record with the content that this call has, if that is the same today."""
        named = self._identity(about(record), self._held(call, record))
        same = named is not None and named.content == call.draft.content
        return changed(record, content=call.draft.content) if same else record

    def is_sealed(self, record: Record) -> bool:
        """Whether it keeps a secret as a hash that another contract has made."""
        action = about(record)
        return action.contract != self.contract.digest and holds_sealed(_recorded(action))

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
        today = self._name(its, self._held(call, record))
        return today == action.identity != its.identity

    def _held(self, call: "Call", record: Record) -> dict[str, Any] | None:
        """The recorded arguments, with secrets that are the caller's; None: they are others."""
        recorded = _recorded(about(record))
        sealed = recorded is not None and holds_sealed(recorded)
        return opened(recorded or {}, call.arguments, self._secret) if sealed else recorded

    def _name(self, action: Action, arguments: dict[str, Any] | None) -> bytes | None:
        """The name that an action would have today with these; None: they cannot be named."""
        named = self._identity(action, arguments)
        return None if named is None else named.identity

    def _identity(self, action: Action, arguments: dict[str, Any] | None) -> Identity | None:
        scope, secret, ordinal = account_of(action), self._secret, action.ordinal
        try:
            if arguments is not None:
                return identify(
                    self.contract, arguments, scope=scope, secret=secret, ordinal=ordinal
                )
        except ArgumentError:
            pass  # what has no name today meets no call
        return None


def _recorded(action: Action) -> dict[str, Any] | None:
    try:
        held: dict[str, Any] = decode(action.arguments)
    except ArgumentError:
        return None
    return held
