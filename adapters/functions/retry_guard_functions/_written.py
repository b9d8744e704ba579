"""How typed values are written as arguments: equal values, equal data, in every process.

A Decimal stays one, so that 5, 5.0 and "5.00" are one number; a set is a sorted list. What a
`default_factory` made, and no model gave, is left out: it would be another value each time.
"""

import dataclasses
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from retry_guard_contracts import canonical

_CONSTANT = frozenset[Any]({None, dataclasses.MISSING, list, dict, set, frozenset, tuple, str, int})
"""Factories that make the same value each time; and none."""


def canonical_data(value: Any, written: Any, given: Any) -> Any:
    """Return `written`, which pydantic made of `value`, in a form that equal values share.

    `given`: what the model gave for it. Raises `ValueError` where nothing tells which members
    were given.
    """
    match value:
        case Decimal() if value.is_finite():
            return value
        case RootModel():
            return canonical_data(cast("Any", value).root, written, given)
        case BaseModel() if isinstance(written, dict):
            return _members(_of_model(value), cast("Any", written), given)
        case dict() if isinstance(written, dict):
            return _entries(cast("Any", value), cast("Any", written), given)
        case list() | tuple() | deque() | set() | frozenset() if isinstance(written, list):
            return _items(cast("Any", value), cast("Any", written), given)
        case _ if dataclasses.is_dataclass(value) and isinstance(written, dict):
            return _members(_of_dataclass(value, given), cast("Any", written), given)
        case _:
            return written


def _members(
    members: Iterator[tuple[str, Any, bool]], written: dict[str, Any], given: Any
) -> dict[str, Any]:
    form = dict(written)
    for name, value, made in members:
        if made:
            form.pop(name, None)
        elif name in form:
            form[name] = canonical_data(value, form[name], _at(given, name))
    return form


def _of_model(model: BaseModel) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name in data, the value, and whether a factory made it, for each field."""
    for name, about in type(model).model_fields.items():
        made = name not in model.model_fields_set and about.default_factory not in _CONSTANT
        yield about.serialization_alias or name, model.__dict__.get(name), made


def _of_dataclass(value: Any, given: Any) -> Iterator[tuple[str, Any, bool]]:
    known: Mapping[str, FieldInfo] = getattr(value, "__pydantic_fields__", {})
    fields = dataclasses.fields(value)
    for field in fields:
        about = known.get(field.name)
        factory: Any = field.default_factory if about is None else about.default_factory
        name = field.name if about is None else about.serialization_alias or field.name
        made = factory not in _CONSTANT
        if made and not _tells(given, {each.name for each in fields}):
            raise ValueError(f"nothing tells whether {name} was given")
        yield name, getattr(value, field.name), made and name not in given


def _tells(given: Any, names: set[str]) -> bool:
    return isinstance(given, Mapping) and cast("Any", given).keys() <= names


def _entries(value: dict[Any, Any], written: dict[str, Any], given: Any) -> dict[str, Any]:
    pairs = zip(value.items(), written.items(), strict=True)
    return {
        f"{key.normalize():f}" if type(key) is Decimal else name: canonical_data(
            item, data, _at(given, name)
        )
        for (key, item), (name, data) in pairs
    }


def _items(value: Collection[Any], written: list[Any], given: Any) -> list[Any]:
    unordered = isinstance(value, set | frozenset)
    items = [
        canonical_data(item, data, None if unordered else _at(given, place))
        for place, (item, data) in enumerate(zip(value, written, strict=True))
    ]
    return sorted(items, key=canonical) if unordered else items


def _at(given: Any, step: str | int) -> Any:
    try:
        return given[step]
    except (LookupError, TypeError):
        return None
