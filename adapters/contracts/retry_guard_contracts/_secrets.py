"""Arguments that are never stored: a keyed hash stands in for each."""

import hmac
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from retry_guard_contracts._encoding import encode
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._paths import MISSING, Path, change, find, parse_path
from retry_guard_contracts._schema import Contract

_MARK = "$sealed"
_DEEPEST = 50
"""Steps of a path that a contract names; arguments may be deeper."""


def seal(contract: Contract, arguments: Mapping[str, Any], secret: bytes) -> dict[str, Any]:
    """Return a copy in which a keyed hash stands for each secret field. Omitted ones stay so.

    Raises:
        ArgumentError: a secret value has no stored form.
    """
    held: object = dict(arguments)
    for text in contract.sealed:
        held = change(held, parse_path(text), partial(_mark, text, secret))
    return cast("dict[str, Any]", held)


def unseal(
    contract: Contract, sealed: Mapping[str, Any], given: Mapping[str, Any], secret: bytes
) -> dict[str, Any] | None:
    """Return the recorded arguments, their secrets taken from a caller's.

    None if a secret is missing there, or is not to the byte what was recorded.
    """
    held: object = dict(sealed)
    for text in contract.sealed:
        values: list[object] = []
        change(given, parse_path(text), values.append)
        values.reverse()
        held = change(held, parse_path(text), partial(_opened, text, secret, values))
    opened = cast("dict[str, Any]", held)
    return None if sealed_paths(contract, opened) else opened


def sealed_paths(contract: Contract, arguments: Mapping[str, Any]) -> list[Path]:
    """Return the paths of the secret fields that are sealed in recorded arguments."""
    paths = [parse_path(text) for text in contract.sealed]
    return [path for path in paths if is_sealed(find(arguments, path, None))]


def is_sealed(value: object) -> bool:
    """Whether a hash stands here for a secret value (or for one in a list of them)."""
    if isinstance(value, list):
        return any(is_sealed(item) for item in cast("list[object]", value))
    return mark_of(value) is not None


def holds_sealed(recorded: object) -> bool:
    """Whether a hash stands for a secret anywhere in recorded arguments."""
    return next(_sealed_in(recorded, ()), None) is not None


def opened(
    recorded: Mapping[str, Any], given: Mapping[str, Any], secret: bytes
) -> dict[str, Any] | None:
    """Return recorded arguments, their secrets taken from a caller's, whichever fields are secret.

    It is `unseal` where it is not known what was secret then. None if one is missing there, or is
    not to the byte what was recorded.
    """
    held: object = dict(recorded)
    for path, hashed in _sealed_in(recorded, ()):
        value = find(given, path)
        if not any(_is_hash_of(text, secret, value, hashed) for text in _texts(path)):
            return None
        held = change(held, path, partial(_instead, value))
    return cast("dict[str, Any]", held)


def _sealed_in(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """The places of hashes, each with its hash."""
    hashed = mark_of(value)
    if hashed is not None:
        yield path, hashed
    elif len(path) > _DEEPEST:
        return
    elif isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            yield from _sealed_in(each, (*path, name))
    elif isinstance(value, list):
        for at, each in enumerate(cast("list[object]", value)):
            yield from _sealed_in(each, (*path, at))


def _texts(path: Path) -> tuple[str, ...]:
    """How a contract may have named the place: one item of a list, or every one."""
    names = [
        re.sub(r"([.\[\]\\])", r"\\\1", step) if isinstance(step, str) else "" for step in path
    ]
    one = [f".{name}" if name else f"[{step}]" for name, step in zip(names, path, strict=True)]
    every = [f".{name}" if name else "[]" for name in names]
    return "".join(one).removeprefix("."), "".join(every).removeprefix(".")


def _is_hash_of(text: str, secret: bytes, value: object, hashed: str) -> bool:
    try:
        return value is not MISSING and mark(text, secret, value) == hashed
    except ArgumentError:
        return False


def _instead(value: object, _: object) -> object:
    return value


def mark(text: str, secret: bytes, value: object) -> str:
    """Return the keyed hash that stands for the value of a field.

    Raises:
        ArgumentError: it has no stored form.
    """
    data = encode([text, value], f"arguments.{text}")
    return hmac.digest(secret, b"seal:" + data, "sha256").hex()


def mark_of(value: object) -> str | None:
    """Return the hash that stands here; None if none does."""
    held = cast("dict[str, str]", value) if isinstance(value, dict) else {}
    return held[_MARK] if list(held) == [_MARK] else None


def _mark(text: str, secret: bytes, value: object) -> dict[str, str]:
    return {_MARK: mark(text, secret, value)}


def _opened(text: str, secret: bytes, values: list[object], mark: object) -> object:
    """The next of the caller's values, if the mark is its hash; else the mark."""
    if not values:
        return mark
    value = values.pop()
    try:
        same = is_sealed(mark) and _mark(text, secret, value) == mark
    except ArgumentError:
        return mark
    return value if same else mark
