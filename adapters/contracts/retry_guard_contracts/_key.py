"""The key under which a server recognises a repeat: made, found, and put on the wire."""

import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from retry_guard_contracts._canonical import canonical, piece
from retry_guard_contracts._digests import keyed
from retry_guard_contracts._document import document
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._paths import MISSING, find, parse_path, put
from retry_guard_contracts._schema import Contract


def make_key(
    contract: Contract,
    *,
    secret: bytes,
    scope: str,
    identity: bytes,
    turn: str | None,
    ordinal: int,
    generation: int,
) -> str:
    """Return a key for one generation of an action, that nobody without the secret can guess.

    With a turn it is derived, so a caller that has lost the record asks with the same key;
    without one it is random.
    """
    if turn is None:
        digits = secrets.token_hex(32)
    else:
        head = _items("key", contract.server, contract.tool, scope)
        tail = _items(turn, ordinal, generation)
        digits = keyed(secret, piece(b"l", head + canonical(identity) + tail)).hex()
    stated = contract.key
    if stated is None or stated.format == "uuid":
        return _uuid(digits)
    return digits[: stated.max_length]


@lru_cache(maxsize=256, typed=True)
def _items(*values: str | int | None) -> bytes:
    """Return the canonical forms of some items of a list, one after the other."""
    return b"".join(canonical(value, "turn") for value in values)


def _uuid(digits: str) -> str:
    """Return a UUID of version 4 made of hexadecimal digits, of which six bits give way."""
    variant = "89ab"[int(digits[16], 16) % 4]
    third, fourth = f"4{digits[13:16]}", f"{variant}{digits[17:20]}"
    return f"{digits[:8]}-{digits[8:12]}-{third}-{fourth}-{digits[20:32]}"


def caller_key(contract: Contract, arguments: Mapping[str, Any]) -> str | None:
    """Return the key that the caller chose; None if the tool takes none there, or it is blank.

    Raises:
        ArgumentError: it is neither text nor a UUID.
    """
    if contract.key is None or contract.key.carried:
        return None
    value = find(arguments, parse_path(contract.key.param))
    if isinstance(value, UUID):
        return str(value)
    if value is MISSING or value is None:
        return None
    if not isinstance(value, str):
        raise ArgumentError(f"arguments.{contract.key.param}: a key must be text")
    return value if value.strip() else None


def place_key(
    contract: Contract, arguments: Mapping[str, Any], key: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments with the key in its place, and the key where it travels beside them.

    The second part is `{"header:NAME": key}` or `{"meta:NAME": key}`, else empty.
    """
    if contract.key is None:
        return dict(arguments), {}
    if contract.key.carried:
        return dict(arguments), {contract.key.param: key}
    placed = put(arguments, parse_path(contract.key.param), key)
    return cast("dict[str, Any]", placed), {}


def key_ignored(contract: Contract, result: object) -> bool:
    """Whether a response lacks the declared sign that the key was honoured.

    Null, false, 0 and blank text are no sign, nor are the words `false`, `no` and `0`.
    """
    if contract.key is None or contract.key.ack is None:
        return False
    kind, _, name = contract.key.ack.partition(":")
    value = _header(result, name) if kind == "header" else _in_result(result, contract.key.ack)
    if isinstance(value, str):
        return value.strip().lower() in ("", "false", "no", "0")
    return value is MISSING or not value


def _in_result(result: object, path: str) -> object:
    try:
        return find(document(result), parse_path(path))
    except ValueError:
        return MISSING


def _header(result: object, name: str) -> object:
    if isinstance(result, Mapping):
        headers = cast("Mapping[str, object]", result).get("headers")
    else:
        headers = getattr(result, "headers", None)
    if not isinstance(headers, Mapping):
        return MISSING
    items = cast("Mapping[str, object]", headers).items()
    return next((value for key, value in items if str(key).lower() == name.lower()), MISSING)
