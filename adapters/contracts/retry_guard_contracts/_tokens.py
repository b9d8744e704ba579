"""The token that confirms a write: found, named without being shown, and put in its place."""

from collections.abc import Mapping
from typing import Any, cast

from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._confirm import Confirm
from retry_guard_contracts._digests import keyed
from retry_guard_contracts._document import document
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._identity import Identity
from retry_guard_contracts._paths import DROP, MISSING, change, find, parse_path, put
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._secrets import mark, mark_of


def token_in(rule: Confirm, arguments: Mapping[str, Any]) -> str | None:
    """Return the token that a call carries; None if it carries none, or a blank one.

    Raises:
        ArgumentError: it is no text.
    """
    value = find(arguments, parse_path(rule.param))
    if value is MISSING or value is None:
        return None
    if not isinstance(value, str):
        raise ArgumentError(f"arguments.{rule.param}: a token must be text")
    return value if value.strip() else None


def token_of(rule: Confirm, result: object) -> str | None:
    """Return the token that a preview's result gives; None where there is none."""
    try:
        value = find(document(result), parse_path(rule.token))
        text = value if isinstance(value, str) else ""
        text.encode()
    except ValueError:
        return None
    return text if text.strip() else None


def token_mark(rule: Confirm, token: str, secret: bytes) -> str:
    """Return what stands for a token in records: a keyed hash.

    Raises:
        ArgumentError: it is no Unicode text.
    """
    return mark(rule.param, secret, token)


def recorded_mark(rule: Confirm, arguments: Mapping[str, Any]) -> str | None:
    """Return what stands for the token in recorded arguments; None where none was sent."""
    return mark_of(find(arguments, parse_path(rule.param)))


def with_token(rule: Confirm, arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Return the arguments with this token in its place."""
    return cast("dict[str, Any]", put(arguments, parse_path(rule.param), token))


def previewed(contract: Contract, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a preview takes them: without token, and without a key."""
    held: object = dict(arguments)
    for path in contract.unnamed:
        held = change(held, parse_path(path), lambda _: DROP)
    return cast("dict[str, Any]", held)


def as_previewed(
    contract: Contract, shown: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a preview, with the token and the key of the call that follows it.

    Of what never counts, the call's own goes out where the preview had none.
    """
    held: object = dict(shown)
    own = [path for path in map(parse_path, contract.volatile) if find(shown, path) is MISSING]
    for path in [*own, *map(parse_path, contract.unnamed)]:
        value = find(given, path)
        held = held if value is MISSING else put(held, path, value)
    return cast("dict[str, Any]", held)


def preview_identity(contract: Contract, name: Identity, secret: bytes) -> bytes:
    """Return the identity of an action's preview: it is for this tool, effect and content only."""
    return keyed(secret, canonical(["preview", contract.server, contract.tool, *name]))
