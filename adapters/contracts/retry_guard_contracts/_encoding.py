"""The stored form: JSON text that gives back the same values, of the same types.

JSON's own types are stored as they are; every other one as an object `{"$": type, "v": …}`, and
an object that has a member `$` itself is wrapped likewise. Text, the order of members and the
length of a Decimal are kept exactly. A fixed offset comes back as `datetime.timezone`.

Enum members, dataclasses and models are stored as data, under their class's qualified name.
Reading never imports a class by name: it makes instances of the classes that it is given, by
their stored fields, and runs no code of theirs; without them it returns an enum member's value,
and a dict for a dataclass or model.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from retry_guard_contracts._arguments import check_arguments
from retry_guard_contracts._decoding import decode
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._values import (
    check_depth,
    check_number,
    check_text,
    check_zone,
    own_fields,
    pydantic_state,
    refuse,
)

RESULT_LIMIT = 8 * 1024 * 1024
"""How many bytes of a result are stored at most."""


def encode(value: object, path: str = "value") -> bytes:
    """Return the stored form. `path` names the value in errors.

    Raises:
        ArgumentError: it holds a type that is not understood, NaN, an infinity, a lone
            surrogate, a key that is not text, or too many levels.
    """
    return _Writer().write(value, path)


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """Return the stored form of arguments, having read it back.

    Raises:
        ArgumentError: they are no mapping, or would not come back equal and of the same types.
    """
    writer = _Writer()
    data = writer.write(check_arguments(arguments), "arguments")
    if writer.classes and encode(decode(data, writer.classes), "arguments") != data:
        raise ArgumentError("arguments: would not come back the same; pass plain data")
    return data


def encode_result(value: object, limit: int = RESULT_LIMIT) -> bytes | None:
    """Return the stored form of a result; None if it cannot be stored or is over the limit.

    Never raises, and runs no code of the value's class: after the effect nothing may be lost.
    """
    try:
        data = _Writer(limit).write(value, "result")
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the caller still gets it
        return None
    return data if len(data) <= limit else None


@dataclass(slots=True)
class _Writer:
    """Turns values into what `json` writes. `classes`: those whose instances it met."""

    left: float = float("inf")
    classes: dict[str, type] = field(default_factory=dict[str, type])

    def write(self, value: object, path: str) -> bytes:
        tree = self.tree(value, path, 0)
        text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()

    def tree(self, value: object, path: str, depth: int) -> object:
        check_depth(depth, path)
        self._pay(8)
        kind = type(value)
        if kind is str:
            return self._text(cast("str", value), path)
        if kind is dict:
            return self._mapping(cast("dict[str, object]", value), path, depth)
        if kind is list:
            return self._items(cast("list[object]", value), path, depth)
        if kind in _AS_THEY_ARE:
            if kind in (int, float):
                check_number(cast("float", value), path)
            return value
        if kind in _CONTAINERS:
            return self._container(cast("Iterable[object]", value), path, depth)
        if kind in _SCALARS:
            return self._scalar(value, path)
        return self._instance(value, path, depth)

    def _pay(self, size: int) -> None:
        self.left -= size
        if self.left < -_SLACK:
            raise ArgumentError("result: too long to be stored")

    def _text(self, value: str, path: str) -> str:
        self._pay(len(value))
        check_text(value, path)
        return value

    def _mapping(self, value: dict[str, object], path: str, depth: int) -> object:
        if any(type(key) is not str for key in value):
            raise ArgumentError(f"{path}: a key is not text; use text for every key")
        members = {
            self._text(key, f"{path}: a key"): self.tree(item, f"{path}.{key}", depth + 1)
            for key, item in value.items()
        }
        return {"$": "object", "v": members} if "$" in members else members

    def _items(self, value: Iterable[object], path: str, depth: int) -> list[object]:
        return [self.tree(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]

    def _container(self, value: Iterable[object], path: str, depth: int) -> object:
        items = self._items(value, path, depth)
        if not isinstance(value, tuple):
            items.sort(key=json.dumps)
        return {"$": type(value).__name__, "v": items}

    def _scalar(self, value: object, path: str) -> object:
        if isinstance(value, Decimal):
            check_number(value, path)
        if isinstance(value, bytes):
            self._pay(len(value))
        if isinstance(value, datetime | time):
            check_zone(value, path)
        text = _SCALARS[type(value)](value)
        stored: dict[str, object] = {"$": type(value).__name__.lower(), "v": text}
        if isinstance(value, datetime | time) and value.fold:
            stored["fold"] = 1
        if isinstance(value, datetime) and isinstance(value.tzinfo, ZoneInfo):
            stored |= {"v": value.replace(tzinfo=None).isoformat(), "zone": value.tzinfo.key}
        return stored

    def _instance(self, value: object, path: str, depth: int) -> object:
        name = type(value).__qualname__
        if Enum in type(value).__mro__:
            member = cast("Enum", value)
            inner = self.tree(member.value, path, depth + 1)
            stored: dict[str, object] = {
                "$": "enum",
                "class": name,
                "name": member.name,
                "v": inner,
            }
        else:
            held = own_fields(value)
            if held is None:
                raise refuse(value, path)
            stored = {"$": "fields", "class": name}
            state = pydantic_state(value)
            if state is not None:
                if state.private:
                    raise ArgumentError(f"{path}: {name} has private attributes; pass plain data")
                stored["set"] = sorted(state.given)
            stored["v"] = {
                key: self.tree(item, f"{path}.{key}", depth + 1) for key, item in held.items()
            }
        if self.classes.setdefault(name, type(value)) is not type(value):
            raise ArgumentError(f"{path}: two classes are both named {name}; rename one of them")
        return stored


_SLACK = 64
_AS_THEY_ARE = frozenset({type(None), bool, int, float})
_CONTAINERS = frozenset({tuple, set, frozenset})
_SCALARS: dict[type, Callable[[Any], str]] = {
    Decimal: str,
    UUID: str,
    bytes: lambda value: b64encode(value).decode(),
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
}
