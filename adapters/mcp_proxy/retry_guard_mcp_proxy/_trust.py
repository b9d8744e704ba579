"""Whose word counts for a tool: the operator's, or the server's own, as far as that is trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._messages import Message, is_object
from retry_guard_mcp_proxy._stated import StatedError, contract_of, fingerprint, stated, strict

Who = Literal["file", "trusted", "server", "nobody"]
"""The operator's file; the server, and an operator trusts that; the server; nobody."""

CHANGED = "its contract or its schema has changed, so it is not trusted any more"
UNTRUSTED = "its server states a contract, which is not trusted"


@dataclass(frozen=True, slots=True)
class Word:
    """What counts for a tool, and who says so. `note`: what an operator should know of it."""

    contract: Contract | None
    who: Who
    note: str = ""

    @property
    def guards(self) -> bool:
        """Whether calls of the tool are guarded."""
        return self.contract is not None and self.contract.effect != "read"


@dataclass(frozen=True, slots=True)
class Pin:
    """A stated contract that an operator trusts. `mark`: the digest of what that rests on."""

    contract: Contract
    mark: str


def pins_in(trusted: Mapping[str, Any]) -> dict[str, Pin]:
    """Return the pins of a file, by tool; one that cannot be read is none."""
    found: dict[str, Pin] = {}
    tools: Any = trusted.get("tools", {})
    for name, kept in tools.items():
        if is_object(kept) and is_object(kept.get("contract")) and isinstance(kept["mark"], str):
            try:
                found[name] = Pin(contract_of({**kept["contract"], "tool": name}), kept["mark"])
            except StatedError:
                continue
    return found


NOBODY = Word(None, "nobody")


class Trust:
    """Weighs what a server states against what the operator has said."""

    def __init__(self, operators: Mapping[str, Contract], pins: Mapping[str, Pin]) -> None:
        """`operators`: the contracts of the file; `pins`: what is trusted beside them."""
        self._operators = dict(operators)
        self._pins = {name: pin for name, pin in pins.items() if name not in self._operators}

    def before(self) -> list[Contract]:
        """Return what counts before the server has listed its tools: trust waits for that."""
        pins = self._pins.values()
        return [strict(p.contract, was_trusted=True) for p in pins if p.contract.effect != "read"]

    def waits_for(self, name: str) -> bool:
        """Whether the tool is trusted, if only its server still states what it stated."""
        return name in self._pins

    def word(self, name: str, known: Mapping[str, Message], former: Word = NOBODY) -> Word:
        """Return what counts for a tool. `known`: what the server has said of its tools.

        `former`: what counted until now; a server's own word never takes a guard away.
        """
        if name in self._operators:
            return Word(self._operators[name], "file")
        word = self._pinned(name, known) or _own(known[name])
        return former if former.who == "server" and _loosens(word, former) else word

    def _pinned(self, name: str, known: Mapping[str, Message]) -> Word | None:
        pin = self._pins.get(name)
        if pin is None:
            return None
        if fingerprint(known[name], known) == pin.mark:
            return Word(pin.contract, "trusted")
        if pin.contract.effect == "read":
            return None
        reader = pin.contract.read_back
        is_partial = reader is not None and reader.tool not in known
        note = "" if is_partial else CHANGED
        return Word(strict(pin.contract, was_trusted=True), "server", note)


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
        return Word(strict(contract), "server", UNTRUSTED)
    except StatedError as error:
        return Word(None, "nobody", str(error))
