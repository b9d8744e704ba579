"""Text as requests can carry it: a surrogate without its other half could not be encoded."""

from collections.abc import Mapping
from typing import Any, cast


def joined(text: str) -> str:
    """Return the text with the two halves of a character put together, as in two chunks."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def sendable(value: object) -> Any:
    """Return data with the halves of characters put together, and single ones replaced."""
    match value:
        case str() if value.isascii():
            return value
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return {sendable(name): sendable(each) for name, each in pairs}
        case list() | tuple():
            return [sendable(each) for each in cast("list[object]", value)]
        case _:
            return value
