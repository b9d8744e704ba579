"""Which spellings of a field say the same. What a service stores is never changed by it.

`exact`: none but NFC and NFD. `text`: white space does not count. `fold`: nor do case, width and
characters that nobody sees. `number`: text that spells one. `time`: one instant, whatever its
offset. `set`: a list in any order.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, cast
from unicodedata import category, normalize

Alike = Literal["exact", "text", "fold", "number", "time", "set"]


def normal(kind: Alike, value: object) -> object:
    """Return a JSON value that is equal for the spellings that say the same."""
    if isinstance(value, str):
        return _TEXTS[kind](value)
    if kind == "set" and isinstance(value, list):
        return sorted(cast("list[object]", value), key=json.dumps)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@lru_cache(maxsize=4096)
def _exact(text: str) -> str:
    return normalize("NFC", text)


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    return " ".join(normalize("NFC", text).split())


@lru_cache(maxsize=4096)
def _fold(text: str) -> str:
    wide = normalize("NFKC", text).casefold()
    seen = "".join(c for c in wide if c.isspace() or category(c) not in ("Cf", "Cc"))
    return " ".join(normalize("NFKC", seen).split())


@lru_cache(maxsize=4096)
def _number(text: str) -> str:
    try:
        return str(Decimal(text.strip()).normalize())
    except ArithmeticError:
        return text


@lru_cache(maxsize=4096)
def _time(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.strip())
        return text if moment.tzinfo is None else moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return text


_TEXTS: Mapping[Alike, Callable[[str], str]] = MappingProxyType(
    {
        "exact": _exact,
        "text": _text,
        "fold": _fold,
        "number": _number,
        "time": _time,
        "set": _exact,
    }
)
