"""The arguments that count when two calls are compared."""

from collections.abc import Mapping
from typing import Any, cast
from unicodedata import normalize

from retry_guard_contracts._arguments import check_arguments
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._normal import normal
from retry_guard_contracts._paths import DROP, change, parse_path
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._values import MAX_DEPTH, check_depth


def counted(contract: Contract, arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return those that count: no key or token, none that is volatile, nothing that omission says.

    Raises `ArgumentError` for what is no mapping, has too many levels, or a key twice in NFC.
    """
    held: object = check_arguments(arguments)
    ignored = [parse_path(path) for path in (*contract.volatile, *contract.unnamed)]
    held = _without_nulls(held, 0)
    for path in ignored:
        held = change(held, path, lambda _: DROP)
    for text, default in contract.defaults.items():
        held = _without_default(contract, held, text, default)
    return cast("dict[str, object]", held)


def _without_default(contract: Contract, held: object, text: str, default: object) -> object:
    kind = (contract.identity or {}).get(text, "exact")
    same = normal(kind, default, f"defaults.{text}")
    place = f"arguments.{text}"
    return change(
        held, parse_path(text), lambda value: DROP if normal(kind, value, place) == same else value
    )


def _without_nulls(value: Any, depth: int) -> object:  # noqa: ANN401 - whatever was given
    if depth > MAX_DEPTH:
        check_depth(depth, "arguments")
    kind = type(value)  # pyright: ignore[reportUnknownVariableType] - of whatever it is
    if kind is dict:
        held: dict[str, object] = value
        named = {
            name if type(name) is str and name.isascii() else _in_nfc(name): item
            for name, item in held.items()
        }
        if len(named) < len(held):
            raise ArgumentError("arguments: two keys are the same in NFC; keep one of them")
        return {
            name: _without_nulls(item, depth + 1)
            for name, item in named.items()
            if item is not None
        }
    if kind is list or kind is tuple:
        return [_without_nulls(item, depth + 1) for item in value]
    return value


def _in_nfc(name: str) -> str:
    return normalize("NFC", name) if type(name) is str else name
