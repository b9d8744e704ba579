"""Arguments as harnesses hand them over: text that may be blank, or a mapping."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

from retry_guard_contracts._errors import ArgumentError

_JSON_NAMES: dict[type, str] = {
    type(None): "null",
    list: "a list",
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


def parse_arguments(
    given: str | bytes | Mapping[str, Any] | None, *, null_is_empty: bool = True
) -> dict[str, Any]:
    """Return arguments as a dict. Blank text and nothing at all are no arguments: `{}`.

    `null_is_empty`: whether null, as text or as None, is the same as nothing. Integers stay
    exact, floats stay floats; the text inside a string is never parsed.

    Raises:
        ArgumentError: malformed JSON, a key given twice, NaN, an infinity or a number too large
            for a float, or anything but an object.
    """
    if isinstance(given, bytes):
        given = _decoded(given)
    value: object = given
    if isinstance(given, str):
        value = _parsed(given) if given.strip() else {}
    if value is None and null_is_empty:
        value = {}
    return check_arguments(value)


def check_arguments(value: object) -> dict[str, Any]:
    """Return a copy of arguments, refused unless they are a mapping with text as keys.

    Raises:
        ArgumentError: they are not.
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        name = _JSON_NAMES.get(type(value), type(value).__qualname__)
        raise ArgumentError(f"arguments must be an object, not {name}")
    held = dict(cast("Mapping[object, Any]", value))
    for key in held:
        if type(key) is not str:
            raise ArgumentError("arguments: a key is not text; use text for every key")
    return cast("dict[str, Any]", held)


def parse_json(text: str) -> object:
    """Parse JSON, strictly.

    Raises:
        ValueError: malformed, a key twice, NaN, infinities, nested too deep.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_members,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it goes wrong at character {error.pos + 1}") from None


def _parsed(text: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        msg = f"arguments are not valid JSON: {error}; pass one JSON object"
        raise ArgumentError(msg) from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ArgumentError("arguments are not UTF-8; pass JSON in UTF-8") from None


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return members


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a number has {len(text)} digits, which is too many") from None


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is too large for a number")
    return value
