"""What a server states of its own tools, and how much of that counts unless an operator says so.

A contract stands in `_meta["retry-guard/contract"]` of a tool. Until it is trusted, it makes the
guard stricter and nothing else: what would let a call be sent again, or pass for another one,
is left out of it.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from retry_guard_contracts import Contract, Sign
from retry_guard_core import GuardError
from retry_guard_mcp_proxy._messages import Message, is_object, meta_of, object_in

STATED = "retry-guard/contract"
"""The name in `_meta` of a tool under which its server states a contract."""
_SPECIAL = frozenset("\\.^$*+?{}[]()|")
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")


class StatedError(GuardError):
    """What a server states of a tool is no contract. The message says why, in one line."""


def states(tool: Message) -> bool:
    """Whether a server states anything of it."""
    return STATED in meta_of(tool)


def stated(tool: Message) -> Contract | None:
    """Return the contract that a server states of a tool, as it stands; None: it states none.

    Raises `StatedError` for what is no contract of this tool.
    """
    given = meta_of(tool).get(STATED)
    if given is None:
        return None
    if not is_object(given):
        raise StatedError("what its server states is no contract: it must hold fields")
    if given.get("tool", tool["name"]) != tool["name"]:
        raise StatedError("what its server states is the contract of another tool")
    fields = {name: value for name, value in given.items() if name != "server"}
    return contract_of({**fields, "tool": tool["name"]})


def contract_of(fields: Mapping[str, Any]) -> Contract:
    """Return a contract of JSON fields. Raises `StatedError`."""
    try:
        return Contract.model_validate(dict(fields))
    except (ValueError, GuardError, RecursionError) as error:
        raise StatedError(f"what its server states is no contract: {_first(error)}") from None


def _first(error: Exception) -> str:
    """The first of what is wrong, on one line."""
    details: Callable[..., list[dict[str, Any]]] | None = getattr(error, "errors", None)
    if details is None:
        return " ".join(str(error).split())
    first = details(include_url=False)[0]
    place, text = ".".join(map(str, first["loc"])), " ".join(str(first["msg"]).split())
    return f"{place}: {text}" if place else text


def strict(contract: Contract, *, was_trusted: bool = False) -> Contract:
    """Return what counts of a contract that is not trusted: a write that a person settles.

    Neither its key nor its read-back, bounds or proofs authorise anything. What makes a call like
    another one is all of its arguments, but for the one that carries a key, since a new key is no
    new action (unless it is secret, so that it cannot be compared). Secrets stay secret, a repeat
    that needs a person goes on to need one, and results that prove nothing still prove nothing.
    `was_trusted`: an operator has trusted it, and the server has changed since; then what it says
    of likeness goes on to count, so that what is unresolved is still met.

    Of the messages that prove nothing, only plain words count: a regular expression is a program,
    and can run for hours on a short text.
    """
    named = () if contract.key is None or contract.key.carried else (contract.key.param,)
    sealed = set(map(_root, contract.sealed))
    key = tuple(one for one in named if was_trusted or _root(one) not in sealed)
    fields: dict[str, Any] = {"tool": contract.tool, "volatile": key, "secret": contract.sealed}
    fields["unknown"] = tuple(s for s in contract.unknown if was_trusted or _is_harmless(s))
    if contract.repeat == "escalate":
        fields |= {"repeat": "escalate", "repeat_window": contract.repeat_window}
    if was_trusted:
        fields |= {
            "identity": contract.identity,
            "defaults": contract.defaults,
            "volatile": (*contract.volatile, *contract.unnamed),
            "resource": contract.resource,
        }
    return Contract(**{name: value for name, value in fields.items() if value})


def _is_harmless(sign: Sign) -> bool:
    return sign.message is None or _SPECIAL.isdisjoint(sign.message)


def _root(path: str) -> str:
    """The argument that a path is in, or at least how its name begins."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def is_said_to_read(tool: Message) -> bool:
    """Whether a server says that a tool only reads: then its calls pass, and nothing follows.

    A contract that it states of the tool counts before a hint.
    """
    contract = _stated_or_none(tool)
    if contract is not None:
        return contract.effect == "read"
    return object_in(tool, "annotations").get("readOnlyHint") is True


def is_said_to_write(tool: Message) -> bool:
    """Whether a server says that a tool writes, by a hint or by a contract that it states."""
    hints = object_in(tool, "annotations")
    reads = hints.get("readOnlyHint")
    if reads is False or (hints.get("destructiveHint") is True and reads is not True):
        return True
    contract = _stated_or_none(tool)
    return contract is not None and contract.effect != "read"


def _stated_or_none(tool: Message) -> Contract | None:
    try:
        return stated(tool)
    except StatedError:
        return None


def fingerprint(tool: Message, known: Mapping[str, Message]) -> str | None:
    """Return a digest of all that trust in a tool rests on; None: it can rest on nothing.

    That is what its server states of it, its schemas and hints, and those of the tool that its
    contract reads back with, which has to be known, and said to read.
    """
    contract = _stated_or_none(tool)
    if contract is None:
        return None
    parts = [_resting(tool)]
    if contract.read_back is not None:
        reader = known.get(contract.read_back.tool)
        if reader is None or not is_said_to_read(reader):
            return None
        parts.append(_resting(reader))
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _resting(tool: Message) -> Message:
    hints = object_in(tool, "annotations")
    return {
        "name": tool["name"],
        "contract": meta_of(tool).get(STATED),
        "input": tool.get("inputSchema"),
        "output": tool.get("outputSchema"),
        "hints": [hints.get(name) for name in HINTS],
    }
