"""What a value is made of, found out without running code of its class."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import MemberDescriptorType
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from retry_guard_contracts._errors import ArgumentError

Place: TypeAlias = "str | tuple[Place, str | int]"
"""Where a value is: a name, or a place and the step from there. Written out only in errors."""
LINE = 120
MAX_DEPTH = 100
"""How deep a value may be nested; a value that holds itself is deeper than that."""
MAX_DIGITS = 3_900
MAX_BITS = 12_950
"""How long a number may be: below the length that Python refuses to print."""

_PLAIN = frozenset(
    {bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset}
    | {date, datetime, time, timedelta, Decimal, UUID, Enum, BaseException}
)


def shown(place: Place) -> str:
    """Return a place as a path, such as `arguments.items[2].price`."""
    steps: list[str] = []
    while not isinstance(place, str):
        place, step = place
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    text = place + "".join(reversed(steps))
    return text if len(text) < LINE else text[: LINE - 3] + "..."


def error(place: Place, text: str) -> ArgumentError:
    """Return an error that begins with the place."""
    return ArgumentError(f"{shown(place)}: {text}")


def check_depth(depth: int, place: Place) -> None:
    """Refuse what is nested deeper than `MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise error(place, f"nested deeper than {MAX_DEPTH} levels; pass it flatter")


def check_text(text: str, place: Place) -> None:
    """Refuse text that is no Unicode text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(place, "holds a lone surrogate, so it is no text; remove it") from None


def check_number(value: float | Decimal, place: Place) -> None:
    """Refuse NaN, infinities and numbers too long to be written."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise error(place, "an integer of more than 3,900 digits; pass it as text")
        return
    exact = Decimal(float.__repr__(value)) if isinstance(value, float) else value
    if not exact.is_finite():
        odd = "NaN" if exact.is_nan() else "-Infinity" if exact.is_signed() else "Infinity"
        raise error(place, f"{odd} is not a number; pass a finite one")
    if len(exact.as_tuple().digits) > MAX_DIGITS:
        raise error(place, "a number of more than 3,900 digits; pass it as text")


def check_zone(value: datetime | time, place: Place) -> None:
    """Refuse time zones whose offset only code of an unknown class can tell."""
    zone = type(value.tzinfo)
    fixed = zone is timezone or zone.__module__.partition(".")[0] == "pydantic_core"
    named = isinstance(value, datetime) and zone is ZoneInfo and cast("Any", value.tzinfo).key
    if not (value.tzinfo is None or fixed or named):
        text = f"time zones of type {zone.__name__} are not supported"
        raise error(place, f"{text}; use datetime.timezone or zoneinfo.ZoneInfo")


def refuse(value: object, place: Place) -> ArgumentError:
    """Return the error for a value whose type is not understood. The value is not looked at."""
    name = type(value).__qualname__
    return error(place, f"values of type {name} are not supported; pass plain data")


def own_fields(value: object) -> dict[str, object] | None:
    """Return the fields of a dataclass or pydantic model; None for everything else.

    Fields are read as they are stored: no property, descriptor or hook of the class runs.
    """
    cls = type(value)
    if not _PLAIN.isdisjoint(cls.__mro__):
        return None
    if BaseModel in cls.__mro__:
        read: Callable[[object, str], Any] = object.__getattribute__
        state: dict[str, object] = read(value, "__dict__")
        extra: dict[str, object] = read(value, "__pydantic_extra__") or {}
        names = cast("type[BaseModel]", cls).model_fields
        return {name: state[name] for name in names if name in state} | extra
    if is_dataclass(cls):
        stored = {field.name: _stored(value, field.name) for field in fields(cls)}
        return {name: cell[0] for name, cell in stored.items() if cell}
    return None


def _stored(value: object, name: str) -> tuple[object, ...]:
    """Return a field as it is stored, in a tuple; nothing if it is not stored."""
    for cls in type(value).__mro__:
        slot = cls.__dict__.get(name)
        if isinstance(slot, MemberDescriptorType):
            try:
                return (slot.__get__(value),)
            except AttributeError:
                return ()
    state: dict[str, object] = {}
    if hasattr(type(value), "__dict__"):
        state = cast("Any", object.__getattribute__)(value, "__dict__")
    return (state[name],) if name in state else ()


class PydanticState(NamedTuple):
    """What a model holds beside its fields."""

    given: set[str]
    private: dict[str, object]


def pydantic_state(value: object) -> PydanticState | None:
    """Return which fields of a model were given, and its private attributes; None if it is none."""
    if BaseModel not in type(value).__mro__:
        return None
    read: Callable[[object, str], Any] = object.__getattribute__
    given, private = read(value, "__pydantic_fields_set__"), read(value, "__pydantic_private__")
    return PydanticState(given, private or {})
