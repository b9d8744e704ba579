"""Batches: their items, the part that is missing, and the results of parts put together."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._digests import keyed
from retry_guard_contracts._document import document
from retry_guard_contracts._fields import Fixed
from retry_guard_contracts._matching import UnreadableError, effect_id
from retry_guard_contracts._parts import ReadBack
from retry_guard_contracts._paths import EVERY, MISSING, Path, change, find, parse_path, put
from retry_guard_contracts._schema import Contract


def items_in(contract: Contract, arguments: Mapping[str, Any]) -> list[object]:
    """Return the items of a call; none where its contract has no batch, or there is no list."""
    if contract.batch is None:
        return []
    items = find(arguments, parse_path(contract.batch.items))
    return list(cast("list[object]", items)) if isinstance(items, list | tuple) else []


def with_items(
    contract: Contract, arguments: Mapping[str, Any], at: Sequence[int]
) -> dict[str, Any]:
    """Return a copy of a batch's arguments with only the items in these places."""
    if contract.batch is None:
        return dict(arguments)
    kept = change(
        arguments,
        parse_path(contract.batch.items),
        lambda items: type(cast("list[object]", items))(cast("list[object]", items)[n] for n in at),
    )
    return dict(cast("Mapping[str, Any]", kept))


def rest_identity(identity: bytes, action: str, generation: int, secret: bytes) -> bytes:
    """Return the identity of what is missing of a batch, as an action of its own.

    It does not depend on what is missing, so whoever carries the batch on meets the action that
    was begun first, and what that one recorded.
    """
    return keyed(secret, canonical(["rest", identity, action, generation], "rest"))


def shaped_items(read: ReadBack, items: Sequence[object]) -> object:
    """Return the items of a read in the shape of the tool's own result.

    Raises:
        UnreadableError: a declared field is missing.
    """
    if read.result is None:
        return list(items)
    made: object = {}
    for field, source in read.result.items():
        place, inner = _at_list(field)
        if place is None:
            made = put(made, parse_path(field), source.value if isinstance(source, Fixed) else None)
            continue
        held = find(made, place)
        empty: list[object] = [{}] * len(items)
        entries = cast("list[object]", held) if isinstance(held, list) else empty
        values = [_taken(item, source) for item in items]
        made = put(made, place, [put(e, inner, v) for e, v in zip(entries, values, strict=True)])
    return made


def joined(read: ReadBack, missing: Sequence[int], found: object, rest: object) -> object:
    """Return the result of a whole batch, from those of what was there and of what was missing.

    Where the second has not the declared shape, it is a list of both.
    """
    places = [_at_list(field)[0] for field in read.result or {"[]": ""}]
    try:
        shown = document(rest)
        for place in dict.fromkeys(places):
            if place is not None:
                whole = _merged(find(found, place), find(shown, place), missing)
                found = put(found, place, whole)
    except Exception:  # noqa: BLE001 - after the effect no result may be lost, whatever it looks like
        return [found, rest]
    return found


def named_effects(read: ReadBack, items: Sequence[object]) -> str | None:
    """Return the service's names for a batch's effects, in one text; None: not all have one."""
    if read.id is None:
        return None
    path = parse_path(read.id)
    return _text_of([effect_id(find(item, path)) for item in items])


def effects_named(text: str | None) -> tuple[str, ...]:
    """Return the names that stand in such a text, or the only one of a single effect."""
    if text is None:
        return ()
    return tuple(json.loads(text)) if text.startswith("[") else (text,)


def effects_in(read: ReadBack, result: object) -> str | None:
    """Return the names of the effects in the tool's own result; None: not in it."""
    fields = [field for field, source in (read.result or {}).items() if source == read.id]
    path = parse_path(fields[0]) if fields else (EVERY, *parse_path(read.id or ""))
    values = find(result, path)
    names = cast("list[object]", values) if isinstance(values, list) else []
    return _text_of([effect_id(value) for value in names])


def _text_of(names: list[str | None]) -> str | None:
    return json.dumps(names) if names and None not in names else None


def _at_list(field: str) -> tuple[Path | None, Path]:
    """Where the list stands in a result, and what of each entry is meant."""
    path = parse_path(field)
    if EVERY not in path:
        return None, path
    at = path.index(EVERY)
    return path[:at], path[at + 1 :]


def _taken(item: object, source: str | Fixed) -> object:
    value = source.value if isinstance(source, Fixed) else find(item, parse_path(source))
    if value is MISSING:
        raise UnreadableError
    return value


def _merged(found: object, rest: object, missing: Sequence[int]) -> list[object]:
    """Put both lists together in the order in which the items were sent."""
    if not isinstance(found, list) or not isinstance(rest, list):
        raise UnreadableError
    first, second = iter(cast("list[object]", found)), iter(cast("list[object]", rest))
    total = len(cast("list[object]", found)) + len(cast("list[object]", rest))
    if len(cast("list[object]", rest)) != len(missing):
        raise UnreadableError
    return [next(second) if at in missing else next(first) for at in range(total)]
