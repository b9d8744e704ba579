"""The canonical form: equal values, equal bytes; different values, different bytes.

Every piece is a tag, the length of what follows, and that: no two values can run together.
Equal are: numbers with one decimal value (1, 1.0, Decimal("1.00"); -0.0 and 0; a float stands
for the shortest decimal that reads back as it, which is how JSON carries it), text in one NFC
form, mappings with equal members in any order, a list and a tuple, a set and a frozenset with
equal members. A dataclass or model is its class's qualified name and its fields; an enum member
its class's and its own name. Everything else differs: True and 1, text and bytes, null and
nothing, naive and aware times, one instant in two offsets.

`hash()`, `id()`, `repr()` of objects, the locale and the time zone never enter.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, Flag
from typing import Any, cast
from unicodedata import normalize
from uuid import UUID

from retry_guard_contracts._values import (
    MAX_DEPTH,
    Place,
    check_depth,
    check_number,
    check_text,
    check_zone,
    error,
    own_fields,
    refuse,
)


def canonical(value: object, place: Place = "arguments") -> bytes:
    """Return the canonical form. `place` names the value in errors.

    Raises:
        ArgumentError: it holds NaN, an infinity, a lone surrogate, two keys of one NFC form, a
            key that is not text, a type that is not understood, or too many levels.
    """
    return _form(value, place, 0)


def piece(tag: bytes, payload: bytes) -> bytes:
    """Return a self-delimiting piece: no piece is the beginning of another."""
    return b"%b%d:%b" % (tag, len(payload), payload)


def set_of(forms: Iterable[bytes]) -> bytes:
    """Return the form of a set whose members have these forms."""
    return piece(b"S", b"".join(sorted(set(forms))))


def _form(value: object, place: Place, depth: int) -> bytes:
    if depth > MAX_DEPTH:
        check_depth(depth, place)
    if type(value) is str and value.isascii():  # most of what there is; in NFC as it stands
        return _ascii(value)
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value, place, depth)
    if Enum in type(value).__mro__:
        member = cast("Enum", value)
        name = member._value_ if isinstance(member, Flag) else member._name_
        return piece(b"e", _class(value) + _form(name, place, depth + 1))
    held = own_fields(value)
    if held is None:
        raise refuse(value, place)
    return piece(b"o", _class(value) + _mapping(held, place, depth))


def _ascii(text: str) -> bytes:
    return b"s%d:%b" % (len(text), text.encode())


def _class(value: object) -> bytes:
    return piece(b"c", type(value).__qualname__.encode())


def _text(value: str, place: Place, _depth: int) -> bytes:
    check_text(value, place)
    return piece(b"s", normalize("NFC", value).encode())


def _integer(value: int, place: Place, _depth: int) -> bytes:
    check_number(value, place)
    return _decimal(value, 0)


def _number(value: float | Decimal, place: Place, _depth: int) -> bytes:
    check_number(value, place)
    exact = value if isinstance(value, Decimal) else Decimal(float.__repr__(value))
    sign, figures, exponent = exact.as_tuple()
    return _decimal(int("".join(map(str, figures))) * (-1 if sign else 1), int(exponent))


def _decimal(digits: int, exponent: int) -> bytes:
    while digits and digits % 10 == 0:
        digits, exponent = digits // 10, exponent + 1
    return piece(b"i", b"%xe%d" % (digits, exponent if digits else 0))


def _list(value: Iterable[object], place: Place, depth: int) -> bytes:
    forms = [_form(item, (place, at), depth + 1) for at, item in enumerate(value)]
    return piece(b"l", b"".join(forms))


def _set(value: Iterable[object], place: Place, depth: int) -> bytes:
    return set_of(_form(item, (place, "*"), depth + 1) for item in value)


def _mapping(value: dict[str, object], place: Place, depth: int) -> bytes:
    forms: dict[str, bytes] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise error(place, "a key is not text; use text for every key")
        name, spelt = key, b""
        if key.isascii():
            spelt = _ascii(key)
        else:
            spelt = _text(key, place, 0)
            name = normalize("NFC", key)
        if name in forms:
            raise error(place, f"two keys are both {name!r} in NFC; keep one of them")
        forms[name] = spelt + _form(item, (place, name), depth + 1)
    return piece(b"d", b"".join([forms[name] for name in sorted(forms)]))


def _datetime(value: datetime, place: Place, _depth: int) -> bytes:
    check_zone(value, place)
    return piece(b"t", value.isoformat().encode())


def _time(value: time, place: Place, _depth: int) -> bytes:
    check_zone(value, place)
    return piece(b"h", value.isoformat().encode())


_WRITERS: dict[type, Callable[[Any, Place, int], bytes]] = {
    type(None): lambda _value, _path, _depth: b"n0:",
    bool: lambda value, _path, _depth: b"b1:1" if value else b"b1:0",
    int: _integer,
    float: _number,
    Decimal: _number,
    str: _text,
    bytes: lambda value, _path, _depth: b"x%d:%b" % (len(value), value),
    UUID: lambda value, _path, _depth: piece(b"u", value.bytes),
    date: lambda value, _path, _depth: piece(b"y", value.isoformat().encode()),
    datetime: _datetime,
    time: _time,
    list: _list,
    tuple: _list,
    set: _set,
    frozenset: _set,
    dict: _mapping,
}
