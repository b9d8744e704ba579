"""How the arguments that a model gives become those of a function."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

from retry_guard import ArgumentError

_NAME, _SOME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"), "some field"


class Shape(Protocol):
    """What arguments a tool takes. `parameters`: as a model is shown them, a JSON schema."""

    parameters: Mapping[str, Any]

    def fit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as JSON data, equal for all that the function cannot tell apart.

        Raises `ArgumentError` for what the function does not take.
        """
        ...

    def made(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of which calling the function makes a part, with that part."""
        ...

    def bound(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return what the function is called with. Raises `ArgumentError` as `fit` does."""
        ...


def misfit(tool: str, where: str, what: str) -> NoReturn:
    """Raise the `ArgumentError` for arguments that do not fit; `where` may be a model's words."""
    place = (where if _NAME.fullmatch(where) else _SOME) + ": " if where else ""
    raise ArgumentError(f"{tool}: the arguments do not fit: {place}{what}; nothing was sent")
