"""The classes that a function's parameters may hold, by the names under which they are stored."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import cast, get_args, get_type_hints

from pydantic import BaseModel


def types_in(*hints: object) -> dict[str, type]:
    """Return the enums, dataclasses and models in type hints, and in the fields of those.

    What a hint leaves open (a base class, `Any`, a name that cannot be resolved) is not found.
    """
    found: dict[str, type] = {}
    pending = list(hints)
    seen: list[object] = []
    while pending:
        hint = pending.pop()
        if any(hint is known for known in seen):
            continue
        seen.append(hint)
        pending += [*get_args(hint), getattr(hint, "__value__", None)]
        if isinstance(hint, type) and _is_stored_by_name(hint):
            found.setdefault(hint.__qualname__, hint)
            pending += _field_hints(hint)
    return found


def _is_stored_by_name(cls: type) -> bool:
    return Enum in cls.__mro__ or BaseModel in cls.__mro__ or is_dataclass(cls)


def _field_hints(cls: type) -> Iterator[object]:
    if BaseModel in cls.__mro__:
        for field in cast("type[BaseModel]", cls).model_fields.values():
            yield field.annotation
    elif is_dataclass(cls):
        try:
            yield from get_type_hints(cls).values()
        except NameError:
            return
