"""One finished message of a model, and the calls in it, each once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4


@dataclass(slots=True, kw_only=True)
class Shown:
    """One call as a message shows it. `item`: what the server sent of it."""

    id: str
    name: str
    arguments: str
    item: dict[str, Any] = field(default_factory=dict[str, Any])


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
    found: dict[str, Any] = value.to_dict(mode="json", exclude_none=True)
    return found


def _is_blank(arguments: str) -> bool:
    return not arguments.strip() or arguments.strip() == "null"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) or {}
    except (ValueError, RecursionError):
        return text or {}
