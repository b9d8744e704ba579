"""Reading the stored form."""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from retry_guard_contracts._errors import ArgumentError


def decode(data: bytes, types: Mapping[str, type] | None = None) -> Any:  # noqa: ANN401 - any value may be stored
    """Return what was stored, as plain data; with `types`, exactly as it was.

    `types`: classes by their qualified names; without one that is needed nothing is returned,
    since what is sent again must be what was sent before.

    Raises:
        ArgumentError: the data is damaged, or a class is missing or has changed since.
    """
    try:
        tree = json.loads(data.decode())
        return _value(tree, types) if b'"$"' in data or _ESCAPED in data else tree
    except ArgumentError:
        raise
    except _DAMAGE as error:
        msg = f"the stored form cannot be read: {type(error).__name__}; the record is damaged"
        raise ArgumentError(msg) from error


_ESCAPED = rb"\u0024"
"""How else a tag can be spelled: where neither stands, there is nothing but JSON's own types."""

_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
Types = Mapping[str, type] | None


def _class(held: dict[str, Any], types: Types) -> type | None:
    if types is None:
        return None
    if held["class"] not in types:
        raise ArgumentError(f"the class {held['class']} is not known here; settle by hand")
    return types[held["class"]]


def _value(tree: object, types: Types) -> object:
    if isinstance(tree, list):
        return [_value(item, types) for item in cast("list[object]", tree)]
    if not isinstance(tree, dict):
        return tree
    held = cast("dict[str, Any]", tree)
    if "$" not in held:
        return _members(held, types)
    tag, inner = held["$"], held["v"]
    match tag:
        case "object":
            return _members(inner, types)
        case "tuple":
            return tuple(_value(item, types) for item in inner)
        case "set" | "frozenset":
            return _set(tag, [_value(item, types) for item in inner])
        case "datetime" | "time":
            return _moment(held)
        case "enum":
            return _enum(held, types)
        case "fields":
            return _instance(held, types)
        case _:
            return _SCALARS[tag](inner)


_SCALARS: dict[str, Callable[[str], object]] = {
    "decimal": Decimal,
    "uuid": UUID,
    "bytes": lambda text: b64decode(text, validate=True),
    "date": date.fromisoformat,
}


def _members(held: dict[str, object], types: Types) -> dict[str, object]:
    return {key: _value(item, types) for key, item in held.items()}


def _set(tag: str, items: list[object]) -> object:
    """Members that came back as dicts, for want of their classes, fit in no set: a list."""
    try:
        return frozenset(items) if tag == "frozenset" else set(items)
    except TypeError:
        return items


def _moment(held: dict[str, Any]) -> object:
    kind = datetime if held["$"] == "datetime" else time
    value = kind.fromisoformat(held["v"]).replace(fold=held.get("fold", 0))
    return value.replace(tzinfo=ZoneInfo(held["zone"])) if "zone" in held else value


def _enum(held: dict[str, Any], types: Types) -> object:
    cls, value = _class(held, types), _value(held["v"], types)
    if cls is None:
        return value
    _check(Enum in cls.__mro__, held)
    members = cast("type[Enum]", cls).__members__
    if held["name"] in members:
        return members[held["name"]]
    return cls(value)


def _check(fits: bool, held: dict[str, Any]) -> None:  # noqa: FBT001 - private, one meaning
    if not fits:
        name = held["class"]
        raise ArgumentError(f"the class {name} has changed since it was recorded; settle by hand")


def _instance(held: dict[str, Any], types: Types) -> object:
    cls, values = _class(held, types), _members(held["v"], types)
    if cls is None:
        return values
    if "set" in held:
        _check(BaseModel in cls.__mro__, held)
        return _model(cast("type[BaseModel]", cls), values, held)
    _check(is_dataclass(cls), held)
    _check({field.name for field in fields(cast("Any", cls))} == set(values), held)
    made: object = object.__new__(cast("type[object]", cls))
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _model(cls: type[BaseModel], values: dict[str, object], held: dict[str, Any]) -> BaseModel:
    names = set(cls.model_fields)
    extra = {name: value for name, value in values.items() if name not in names}
    open_ended = cls.model_config.get("extra") == "allow"
    _check(names <= set(values) and (open_ended or not extra), held)
    made = cls.__new__(cls)
    state = {name: value for name, value in values.items() if name in names}
    object.__setattr__(made, "__dict__", state)
    object.__setattr__(made, "__pydantic_fields_set__", set(held["set"]))
    object.__setattr__(made, "__pydantic_extra__", extra if open_ended else None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made
