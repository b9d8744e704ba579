"""Whose word counts for a tool: the operator's, or the server's own, as far as that is trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._messages import Message, is_object
from retry_guard_mcp_proxy._stated import StatedError, contract_of, fingerprint, stated, strict

if TYPE_CHECKING:
    from retry_guard_mcp_proxy._kept import Sheet

Who = Literal["file", "trusted", "server", "nobody"]
"""The operator's file; the server, and an operator trusts that; the server; nobody."""

CHANGED = "its contract or its schema has changed, so it is not trusted any more"
UNTRUSTED = "its server states a contract, which is not trusted"


@dataclass(frozen=True, slots=True)
class Word:
    """What counts for a tool, and who says so. `note`: what an operator should know of it.

    `doubted`: the contract by which calls are told apart also by what only the server calls a key.
    """

    contract: Contract | None
    who: Who
    note: str = ""
    doubted: Contract | None = None

    @property
    def guards(self) -> bool:
        """Whether calls of the tool are guarded."""
        return self.contract is not None and self.contract.effect != "read"


@dataclass(frozen=True, slots=True)
class Pin:
    """A stated contract that an operator trusts. `mark`: the digest of what that rests on."""

    contract: Contract
    mark: str


def pins_in(sheet: "Sheet") -> tuple[dict[str, Pin], tuple[str, ...]]:
    """Return the pins of a file, by tool; and the tools of which nothing there can be read."""
    read = {name: _pin(name, kept) for name, kept in sheet.tools.items()}
    odd = [name for name, pin in read.items() if pin is None]
    found = {name: pin for name, pin in read.items() if pin is not None}
    return found, tuple(sorted((*sheet.odd, *odd)))


def _pin(name: str, kept: Message) -> Pin | None:
    mark, contract = kept.get("mark"), kept.get("contract")
    if not isinstance(mark, str) or not is_object(contract):
        return None
    try:
        return Pin(contract_of({**contract, "tool": name}), mark)
    except StatedError:
        return None


NOBODY = Word(None, "nobody")


class Trust:
    """Weighs what a server states against what the operator has said."""

    def __init__(
        self,
        operators: Mapping[str, Contract],
        pins: Mapping[str, Pin],
        former: Mapping[str, Pin] | None = None,
    ) -> None:
        """`operators`: the contracts of the file; `pins`: what is trusted beside them.

        `former`: what was trusted until now, for which what is unresolved has to be met still.
        """
        self._operators = dict(operators)
        self._pins = {name: pin for name, pin in pins.items() if name not in self._operators}
        self._former = {n: p for n, p in (former or {}).items() if n not in self._pins}

    def renewed(self, pins: Mapping[str, Pin]) -> "Trust":
        """Return what weighs by other pins from now on."""
        return Trust(self._operators, pins, {**self._former, **self._pins})

    def before(self) -> list[Contract]:
        """Return what counts before the server has listed its tools: trust waits for that."""
        pins = self._pins.values()
        return [strict(p.contract, was_trusted=True) for p in pins if p.contract.effect != "read"]

    def waits_for(self, name: str) -> bool:
        """Whether the tool is trusted, if only its server still states what it stated."""
        return name in self._pins

    def has_trusted(self, name: str) -> bool:
        """Whether the tool is trusted, or was."""
        return name in self._pins or name in self._former

    def rests_on(self, name: str) -> tuple[str, ...]:
        """Return the tools whose descriptions trust in this one rests on."""
        pin = self._pins.get(name)
        if pin is None:
            return ()
        reader = pin.contract.read_back
        return (name,) if reader is None else (name, reader.tool)

    def word(
        self,
        name: str,
        known: Mapping[str, Message],
        fresh: Mapping[str, Message],
        former: Word = NOBODY,
    ) -> Word:
        """Return what counts for a tool. `known`: what the server has ever said of its tools.

        `fresh`: what it says of them in this life, as far as that is known: trust rests on nothing
        else. `former`: what counted until now; a server's own word never takes a guard away.
        """
        if name in self._operators:
            return Word(self._operators[name], "file")
        word = self._pinned(name, fresh) or _own(known[name])
        return former if former.who == "server" and _loosens(word, former) else word

    def _pinned(self, name: str, fresh: Mapping[str, Message]) -> Word | None:
        pin = self._pins.get(name) or self._former.get(name)
        if pin is None:
            return None
        rests = self.rests_on(name)
        is_known = all(one in fresh for one in rests)
        if rests and is_known and fingerprint(fresh[name], fresh) == pin.mark:
            return Word(pin.contract, "trusted")
        if pin.contract.effect == "read":
            return None
        note = CHANGED if is_known else ""
        return Word(strict(pin.contract, was_trusted=True), "server", note if rests else UNTRUSTED)


def _loosens(word: Word, former: Word) -> bool:
    return former.guards and not word.guards and word.who != "trusted"


def _own(tool: Message) -> Word:
    """What a server says of a tool, as far as it makes the guard stricter."""
    try:
        contract = stated(tool)
        if contract is None:
            return NOBODY
        if contract.effect == "read":
            return Word(contract, "server")
        counts = strict(contract)
        apart = counts.model_copy(update={"volatile": ()}) if counts.volatile else None
        return Word(counts, "server", UNTRUSTED, apart)
    except StatedError as error:
        return Word(None, "nobody", str(error))
