"""Turning values into what `json` writes."""

import json
from base64 import b64encode
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._values import (
    MAX_DEPTH,
    Place,
    check_depth,
    check_number,
    check_text,
    check_zone,
    error,
    own_fields,
    pydantic_state,
    refuse,
)

_JSON = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
)


@dataclass(slots=True)
class Writer:
    """Writes one value. `left`: bytes that it may take, one for each item and each character.

    `classes`: those that it met.
    """

    left: float = float("inf")
    classes: dict[str, type] = field(default_factory=dict[str, type])

    def write(self, value: object, place: Place) -> bytes:
        """Return the stored form; raises ArgumentError."""
        return _JSON.encode(self.tree(value, place, 0)).encode()

    def tree(self, value: Any, place: Place, depth: int) -> object:  # noqa: ANN401 - whatever it is
        """Return what `json` writes for a value."""
        if depth > MAX_DEPTH:
            check_depth(depth, place)
        kind = type(value)  # pyright: ignore[reportUnknownVariableType] - of whatever it is
        if kind is str:
            return self._text(value, place)
        if kind is dict:
            return self._mapping(value, place, depth)
        if kind is list:
            return self._items(value, place, depth)
        if kind in _AS_THEY_ARE:
            if kind is int or kind is float:
                check_number(value, place)
            return value
        if kind in _CONTAINERS:
            return self._container(value, place, depth)
        if kind in _SCALARS:
            return self._scalar(value, place)
        return self._instance(value, place, depth)

    def _pay(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ArgumentError("result: too long to be stored")

    def _text(self, value: str, place: Place) -> str:
        self._pay(len(value))
        if not value.isascii():
            check_text(value, place)
        return value

    def _mapping(self, value: dict[str, object], place: Place, depth: int) -> object:
        self._pay(2 * len(value))
        members: dict[str, object] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise error(place, "a key is not text; use text for every key")
            members[self._text(key, place)] = self.tree(item, (place, key), depth + 1)
        return {"$": "object", "v": members} if "$" in members else members

    def _items(self, value: Collection[object], place: Place, depth: int) -> list[object]:
        self._pay(len(value))
        return [self.tree(item, (place, at), depth + 1) for at, item in enumerate(value)]

    def _container(self, value: Collection[object], place: Place, depth: int) -> object:
        items = self._items(value, place, depth)
        if not isinstance(value, tuple):
            items.sort(key=json.dumps)
        return {"$": type(value).__name__, "v": items}

    def _scalar(self, value: object, place: Place) -> object:
        if isinstance(value, Decimal):
            check_number(value, place)
        if isinstance(value, bytes):
            self._pay(len(value))
        if isinstance(value, datetime | time):
            check_zone(value, place)
        text = _SCALARS[type(value)](value)
        stored: dict[str, object] = {"$": type(value).__name__.lower(), "v": text}
        if isinstance(value, datetime | time) and value.fold:
            stored["fold"] = 1
        if isinstance(value, datetime) and isinstance(value.tzinfo, ZoneInfo):
            stored |= {"v": value.replace(tzinfo=None).isoformat(), "zone": value.tzinfo.key}
        return stored

    def _instance(self, value: object, place: Place, depth: int) -> object:
        cls = type(value)
        name = cls.__qualname__
        stored: dict[str, object]
        if Enum in cls.__mro__:
            member = cast("Enum", value)
            inner = self.tree(member._value_, place, depth + 1)
            stored = {"$": "enum", "class": name, "name": member._name_, "v": inner}
        else:
            stored = {"$": "fields", "class": name, **self._fields(value, place, depth)}
        if self.classes.setdefault(name, cls) is not cls:
            raise error(place, f"two classes are both named {name}; rename one of them")
        return stored

    def _fields(self, value: object, place: Place, depth: int) -> dict[str, object]:
        held, state = own_fields(value), pydantic_state(value)
        if held is None:
            raise refuse(value, place)
        inner = {key: self.tree(item, (place, key), depth + 1) for key, item in held.items()}
        if state is None:
            return {"v": inner}
        if state.private:
            name = type(value).__qualname__
            raise error(place, f"{name} has private attributes; pass plain data")
        return {"v": inner, "set": sorted(state.given)}


_AS_THEY_ARE = frozenset({type(None), bool, int, float})
_CONTAINERS = frozenset({tuple, set, frozenset})
_SCALARS: dict[type, Callable[[Any], str]] = {
    Decimal: lambda value: str(value).upper(),  # the case of E is up to the context
    UUID: str,
    bytes: lambda value: b64encode(value).decode(),
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
}
