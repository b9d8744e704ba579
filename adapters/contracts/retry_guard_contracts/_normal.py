"""Normalisers: when two spellings of a field count as equal. What is sent is never changed.

`exact`: the canonical form, so NFC and NFD are equal. `text`: also trimmed, white space folded.
`fold`: also NFKC, case, and characters that nobody sees. `number`: text that spells a number is
that number. `time`: an instant, whether with an offset, as a datetime or in epoch seconds.
`set`: a list whose order and repetitions do not count.
All but `set` reach into lists and members. What they do not understand stays `exact`.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Literal, assert_never, cast
from unicodedata import category, normalize

from retry_guard_contracts._canonical import canonical, set_of
from retry_guard_contracts._instants import instant
from retry_guard_contracts._values import check_depth, check_text

Normaliser = Literal["exact", "text", "fold", "number", "time", "set"]

_NUMBER = re.compile(r"\s*([+-]?\d{1,3900}(?:\.\d{0,1000})?(?:[eE][+-]?\d{1,9})?)\s*", re.ASCII)
_UNSEEN = frozenset(map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0))) | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)


def normal(kind: Normaliser, value: object, path: str = "arguments") -> bytes:
    """Return the bytes that are equal for values that count as equal.

    Raises:
        ArgumentError: the value has no canonical form.
    """
    match kind:
        case "exact":
            return canonical(value, path)
        case "text":
            return canonical(_leaves(value, path, _text), path)
        case "fold":
            return canonical(_leaves(value, path, _fold), path)
        case "number":
            return canonical(_leaves(value, path, _number), path)
        case "time":
            return canonical(_leaves(value, path, _moment), path)
        case "set":
            return _set(value, path)
    assert_never(kind)


def _set(value: object, path: str) -> bytes:
    if isinstance(value, list | tuple | set | frozenset):
        items = cast("list[object]", value)
        return set_of(canonical(item, f"{path}[]") for item in items)
    return canonical(value, path)


def _leaves(value: object, path: str, fold: Callable[[object], object], depth: int = 0) -> object:
    check_depth(depth, path)
    kind = type(value)
    if kind is dict:
        held = cast("dict[str, object]", value)
        return {key: _leaves(item, path, fold, depth + 1) for key, item in held.items()}
    if kind in (list, tuple, set, frozenset):
        items = cast("list[object]", value)
        return cast("type[list[object]]", kind)(
            _leaves(item, path, fold, depth + 1) for item in items
        )
    if kind is str:
        check_text(cast("str", value), path)
    return fold(value)


def _text(value: object) -> object:
    return " ".join(normalize("NFC", value).split()) if isinstance(value, str) else value


def _fold(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.isascii() and value.isprintable():  # most of what there is; nothing in it is unseen
        return " ".join(value.lower().split())
    folded, before = value, None
    while folded != before:
        before = folded
        seen = "".join(c for c in normalize("NFKC", folded).casefold() if not _unseen(c))
        folded = " ".join(normalize("NFKC", seen).split())
    return folded


def _unseen(character: str) -> bool:
    if character in _UNSEEN:
        return True
    return category(character) in ("Cf", "Cc") and not character.isspace()


def _number(value: object) -> object:
    found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return Decimal(found.group(1)) if found else value


def _moment(value: object) -> object:
    moment = instant(value)
    return value if moment is None else moment.seconds
