"""One finished message of a model, and the calls in it, each once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from retry_guard import ArgumentError, UsageError
from retry_guard_contracts import canonical
from retry_guard_functions import joined, sendable


@dataclass(slots=True, kw_only=True)
class Shown:
    """One call as a message shows it. `item`: what the server sent of it."""

    id: str
    name: str
    arguments: str
    item: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, call_id: Any, called: Any, item: Mapping[str, Any]) -> "Shown":
        """Return a call, whatever a server made of its parts. `called`: its name and arguments."""
        parts = cast("Mapping[str, Any]", called if isinstance(called, Mapping) else {})
        return cls(
            id=sendable(text_of(call_id)),
            name=sendable(text_of(parts.get("name"))),
            arguments=joined(text_of(parts.get("arguments"))),
            item=cast("Any", item),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered. `complete`: it was not cut off, so that its calls may run.

    `waits`: it called a tool that only the caller of the loop can run.
    """

    text: str
    refusal: str
    complete: bool
    calls: list[Shown]
    waits: bool


def collapsed(calls: Iterable[Shown]) -> list[Shown]:
    """Return the calls without ghosts, each with an id of its own and arguments that are JSON.

    Ghosts have no name, or repeat the id of a call with its name and arguments, or without them.
    What only shares an id with another call gets a new one.
    """
    kept, taken = [call for call in distinct(calls) if call.name], set[str]()
    for call in kept:
        if not call.id or call.id in taken:
            call.id = f"call_{uuid4().hex}"
        taken.add(call.id)
        call.arguments = "{}" if _is_blank(call.arguments) else call.arguments
    return kept


def distinct(calls: Iterable[Shown]) -> list[Shown]:
    """Return the calls, each once; what one showing of a call lacks comes from another."""
    kept = list[Shown]()
    for call in calls:
        twin = next((each for each in kept if is_twin(each, call)), None)
        if twin is None:
            kept.append(call)
        else:
            twin.name = twin.name or call.name
            twin.arguments = call.arguments if _is_blank(twin.arguments) else twin.arguments
    return kept


def is_twin(one: Shown, other: Shown) -> bool:
    """Whether both show one call: the same id, and nothing that tells them apart."""
    if not one.id or one.id != other.id or (one.name and other.name and one.name != other.name):
        return False
    blank = _is_blank(one.arguments) or _is_blank(other.arguments)
    return blank or _parsed(one.arguments) == _parsed(other.arguments)


def plain(value: Any) -> dict[str, Any]:
    """Return an object of the SDK as the data that the server sent, without nulls."""
    if isinstance(value, Mapping):
        return {**cast("Mapping[str, Any]", value)}
    if not hasattr(value, "to_dict"):
        kind = type(value).__name__
        raise UsageError(f"a call or message must be an object, not {kind}; nothing was sent")
    found: dict[str, Any] = value.to_dict(mode="json", exclude_none=True, warnings=False)
    return found


def text_of(given: Any) -> str:
    """Return text as it is, nothing as none, and what should have been text as JSON."""
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _is_blank(arguments: str) -> bool:
    return not arguments.strip() or arguments.strip() == "null"


def _parsed(text: str) -> bytes | str:
    """Return what equal arguments share; the text itself of what is no JSON."""
    try:
        return canonical(json.loads(text) or {})
    except (ValueError, RecursionError, ArgumentError):
        return text
