"""Which action a call is: two keyed digests, of what names the effect and of the rest."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._counted import counted
from retry_guard_contracts._digests import keyed
from retry_guard_contracts._normal import normal
from retry_guard_contracts._paths import DROP, MISSING, Path, change, find, parse_path
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._secrets import seal, sealed_paths

SCHEME = 1
"""Version of the canonical form, the normalisers and what goes into an identity.

A change to any of them needs a new version, since records keep the identity of their own.
"""


class Identity(NamedTuple):
    """What names the effect, and what does not; both HMAC-SHA256, 32 bytes."""

    identity: bytes
    content: bytes


def identify(
    contract: Contract,
    arguments: Mapping[str, Any],
    *,
    scope: str,
    secret: bytes,
    ordinal: int = 0,
) -> Identity:
    """Return the digests of a call.

    The identity covers scope, server, what the tool writes, the fields that name the effect
    (without `identity`: all arguments) and, where equal calls each count, the ordinal. Omitted,
    null and default are one, at every depth of objects. The key and volatile fields never count.
    The content covers the remaining arguments where `identity` is given, else nothing.

    Raises:
        ArgumentError: the arguments are no mapping, or have no canonical form.
    """
    named, rest = split(contract, arguments)
    own = ("tool", contract.server, contract.tool)
    place = ("resource", contract.resource) if contract.resource else own
    head = _head(SCHEME, scope, place, ordinal if contract.twins == "count" else None)
    content = _content(secret, SCHEME, rest) if rest else _no_content(secret, SCHEME)
    return Identity(_digest(secret, head, named), content)


@lru_cache(maxsize=256, typed=True)
def _head(scheme: int, scope: str, place: tuple[str | None, ...], count: int | None) -> bytes:
    return canonical([scheme, "identity", scope, place, count], "scope")


def _content(secret: bytes, scheme: int, rest: dict[str, bytes]) -> bytes:
    return _digest(secret, canonical([scheme, "content"]), rest)


@lru_cache(maxsize=16)
def _no_content(secret: bytes, scheme: int) -> bytes:
    return _content(secret, scheme, {})


def differing(
    contract: Contract,
    recorded: Mapping[str, Any],
    given: Mapping[str, Any],
    secret: bytes | None = None,
) -> tuple[str, ...]:
    """Return the names of the fields in which two calls differ, sorted.

    Where the recorded secrets are sealed, `secret` is what they were sealed with; without it
    they are not compared.

    Raises:
        ArgumentError: as for `identify`.
    """
    sealed = sealed_paths(contract, recorded)
    if sealed and secret is not None:
        given = seal(contract, given, secret)
    elif sealed:
        recorded, given = _without(recorded, sealed), _without(given, sealed)
    first, second = ({**a, **b} for a, b in (split(contract, recorded), split(contract, given)))
    return tuple(sorted(name for name in first | second if first.get(name) != second.get(name)))


def split(
    contract: Contract, arguments: Mapping[str, Any]
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the normal forms of the fields that name the effect, and of the rest, by name."""
    held = counted(contract, arguments)
    if contract.identity is None:
        return _forms(held), {}
    named: dict[str, bytes] = {}
    rest: object = held
    for text, kind in contract.identity.items():
        path = parse_path(text)
        value = find(held, path, None)
        if value is not MISSING:
            named[text] = normal(kind, value, f"arguments.{text}")
        rest = change(rest, path, lambda _: DROP)
    return named, _forms(cast("dict[str, object]", rest))


def _forms(held: dict[str, object]) -> dict[str, bytes]:
    return {name: canonical(value, ("arguments", name)) for name, value in held.items()}


def _without(arguments: Mapping[str, Any], paths: list[Path]) -> dict[str, Any]:
    held: object = dict(arguments)
    for path in paths:
        held = change(held, path, lambda _: DROP)
    return cast("dict[str, Any]", held)


def _digest(secret: bytes, head: bytes, fields: dict[str, bytes]) -> bytes:
    return keyed(secret, head + canonical(fields, "arguments"))
