"""Comparing the items of a read with the arguments of a write, in three values."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, cast

from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._fields import Fixed
from retry_guard_contracts._normal import normal
from retry_guard_contracts._parts import ReadBack
from retry_guard_contracts._paths import MISSING, find, parse_path, put
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._secrets import is_sealed

Likeness = Literal["equal", "differs", "undecided"]


class UnreadableError(ValueError):
    """A result has not the declared shape, so it shows nothing."""


def items_of(read: ReadBack, listing: object) -> list[object]:
    """Return the list that the read shows.

    Raises:
        UnreadableError: there is none at the declared path.
    """
    items = find(listing, parse_path(read.items))
    if not isinstance(items, list | tuple):
        raise UnreadableError
    return list(cast("list[object]", items))


def is_cut(read: ReadBack, listing: object) -> bool:
    """Whether the list may be cut, by the declared path; False where none is declared."""
    if read.complete is None:
        return False
    negated = read.complete.startswith("not ")
    value = find(listing, parse_path(read.complete.removeprefix("not ").strip()))
    if negated:
        return value is MISSING or bool(value)
    return value is not True


def has_control(read: ReadBack, items: list[object]) -> bool:
    """Whether the known item is in the list (True where none is declared)."""
    fields = (read.control or {}).items()
    return not fields or any(
        all(_alike(item, path, value) == "equal" for path, value in fields) for item in items
    )


def wanted(
    contract: Contract, source: str | Fixed, arguments: Mapping[str, Any], key: str | None
) -> object:
    """Return what a source stands for; None if it was omitted and has no default.

    Raises:
        UnreadableError: the record has only a hash of it.
    """
    if isinstance(source, Fixed):
        return source.value
    param = contract.key.param if contract.key else None
    if source == param and key is not None:
        return key
    carried = source.startswith(("header:", "meta:"))
    value = find(arguments, parse_path(source), None) if not carried else None
    if is_sealed(value):
        raise UnreadableError
    return contract.defaults.get(source) if value is MISSING or value is None else value


def likeness(
    contract: Contract,
    match: Mapping[str, str | Fixed],
    item: object,
    arguments: Mapping[str, Any],
    key: str | None,
) -> Likeness:
    """Return whether the item's fields are the action's: one that differs settles it."""
    found = {
        _alike(item, path, wanted(contract, source, arguments, key), contract, source)
        for path, source in match.items()
    }
    if "differs" in found:
        return "differs"
    return "undecided" if "undecided" in found else "equal"


def _alike(
    item: object,
    path: str,
    value: object,
    contract: Contract | None = None,
    source: str | Fixed = "",
) -> Likeness:
    """A missing field decides nothing, nor does one that the caller left to the server.

    Nor does a value of another kind: a server may spell a number as text, or hide it.
    """
    theirs = find(item, parse_path(path))
    if value is None:
        return "equal" if theirs is MISSING or theirs is None else "undecided"
    if theirs is MISSING:
        return "undecided"
    identity = (contract.identity if contract else None) or {}
    kind = identity.get(source, "exact") if isinstance(source, str) else "exact"
    try:
        if normal(kind, theirs) == normal(kind, value):
            return "equal"
    except ArgumentError:
        return "undecided"
    told_apart = (
        kind != "exact" or _is_mark(contract, source) or _kind_of(theirs) == _kind_of(value)
    )
    return "differs" if told_apart else "undecided"


def _is_mark(contract: Contract | None, source: str | Fixed) -> bool:
    """Whether the source is the key or the marker, which others have not, however spelled."""
    if contract is None or contract.read_back is None:
        return False
    key = contract.key.param if contract.key else None
    return isinstance(source, str) and source in (key, contract.read_back.marker)


def _kind_of(value: object) -> str:
    """Return the name of what two values must share to be told apart by their difference."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return "number"
    if isinstance(value, list | tuple):
        return "list"
    return "object" if isinstance(value, Mapping) else type(value).__qualname__


def shaped(read: ReadBack, item: object) -> object:
    """Return the item in the shape of the tool's own result.

    Raises:
        UnreadableError: a declared field is missing.
    """
    if read.result is None:
        return item
    made: object = {}
    for field, source in read.result.items():
        value = source.value if isinstance(source, Fixed) else find(item, parse_path(source))
        if value is MISSING:
            raise UnreadableError
        made = put(made, parse_path(field), value)
    return made


def effect_id(value: object) -> str | None:
    """Return an id as text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None
