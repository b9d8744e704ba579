r"""Where a field is: a small path language for arguments and for results.

`customer.id` is a member of a member, `lines[0]` an item, `lines[].sku` that member of every
item, and `.` (or nothing) the whole. A dot or bracket that belongs to a name is written `\.`,
`\[` or `\]`. A name is the same in NFC and in NFD.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, cast
from unicodedata import normalize

from retry_guard_contracts._values import own_fields


class _Token(Enum):
    MISSING = "missing"
    DROP = "drop"
    EVERY = "every"


MISSING: Final = _Token.MISSING
"""There is nothing at the path (which is not the same as null)."""
DROP: Final = _Token.DROP
"""What `change` returns to remove what is there."""
EVERY: Final = _Token.EVERY
"""The step `[]`."""

Step = str | int | _Token
Path = tuple[Step, ...]

_STEP = re.compile(r"(?:^|\.)((?:[^.\[\]\\]|\\.)+)|\[(\d{0,9})\]")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> Path:
    """Return the steps of a path.

    Raises:
        ValueError: it is not in the language.
    """
    steps: list[Step] = []
    position = 0 if text != "." else 1
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            msg = f"{text!r} is no path: write it like customer.id, lines[0] or lines[].sku"
            raise ValueError(msg)
        name, index = found.group(1), found.group(2)
        if name is not None:
            steps.append(normalize("NFC", re.sub(r"\\(.)", r"\1", name)))
        else:
            steps.append(int(index) if index else EVERY)
        position = found.end()
    return tuple(steps)


def overlap(one: str, other: str) -> bool:
    """Whether two paths are equal, or one leads into the other."""
    first, second = parse_path(one), parse_path(other)
    shared = min(len(first), len(second))
    return first[:shared] == second[:shared]


def members(value: Any) -> Mapping[Any, object] | None:  # noqa: ANN401 - whatever a path leads to
    """Return what a name can be looked up in: a mapping, or a dataclass's or model's fields."""
    if type(value) is dict or isinstance(value, Mapping):
        return value  # pyright: ignore[reportUnknownVariableType] - its keys are looked at later
    return own_fields(value)


def _items(value: object) -> list[object] | None:
    if isinstance(value, list | tuple):
        return list(cast("list[object]", value))
    return None


def find(document: object, path: Path, blank: object = MISSING) -> object:
    """Return what is at the path, or `MISSING`.

    For every item (`[]`), an item without the member counts as `blank`, or, where that is
    `MISSING`, makes the whole missing.
    """
    if not path:
        return document
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        return find(_member(document, step), rest, blank)
    items = _items(document)
    if items is None:
        return MISSING
    if isinstance(step, int):
        return find(items[step], rest, blank) if step < len(items) else MISSING
    values = [find(item, rest, blank) for item in items]
    if MISSING in values and blank is MISSING:
        return MISSING
    return [blank if value is MISSING else value for value in values]


def _member(document: object, name: str) -> object:
    if type(document) is dict and name in document:  # most of what there is
        return cast("dict[str, object]", document)[name]
    held = members(document)
    if held is None:
        return MISSING
    return held.get(_spelling(held, name), MISSING)


def _is(key: object, name: str) -> bool:
    """Whether a key is the name, which is in NFC, however the key is spelled."""
    if key == name:
        return True
    return isinstance(key, str) and not key.isascii() and normalize("NFC", key) == name


def _spelling(held: Mapping[object, object], name: str) -> object:
    """Return how the name is spelled there; as it is, where it is missing."""
    if name in held:
        return name
    for key in held:
        if isinstance(key, str) and not key.isascii() and normalize("NFC", key) == name:
            return key
    return name


def change(document: object, path: Path, by: Callable[[object], object]) -> object:
    """Return a copy in which what is at the path was changed; what is missing stays so.

    The original is left alone. A dataclass or model on the way becomes a plain mapping.
    """
    if not path:
        return by(document)
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        held = members(document)
        if held is None or _spelling(held, step) not in held:
            return document
        kept = {
            name: change(value, rest, by) if _is(name, step) else value
            for name, value in held.items()
        }
        return {name: value for name, value in kept.items() if value is not DROP}
    items = _items(document)
    if items is None or (isinstance(step, int) and step >= len(items)):
        return document
    at = range(len(items)) if step is EVERY else [cast("int", step)]
    for index in at:
        changed = change(items[index], rest, by)
        items[index] = None if changed is DROP else changed
    return items


def put(document: object, path: Path, value: object) -> object:
    """Return a copy with the value at the path; members on the way are made where missing."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if not isinstance(step, str):
        msg = "a value can only be put at a path of names"
        raise ValueError(msg)  # noqa: TRY004 - the path is wrong, not a type
    held = members(document) or {}
    name = _spelling(held, step)
    return {**held, name: put(held.get(name), rest, value)}
