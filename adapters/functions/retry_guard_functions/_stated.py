"""Tools with a JSON schema of the caller's own."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from retry_guard import UsageError
from retry_guard_functions._shapes import misfit
from retry_guard_functions._signatures import signature_of

_PLAIN = frozenset({bool, int, float, str})


class Stated:
    """A schema as it was given, but for the property that carries the key."""

    def __init__(
        self,
        tool: str,
        function: Callable[..., Any],
        parameters: Mapping[str, Any],
        key: str | None,
    ) -> None:
        """Take the schema. Raises `UsageError` if it is none, or none of an object."""
        if parameters.get("type", "object") != "object":
            raise UsageError(f"{tool}: parameters must be the JSON schema of an object")
        self._tool, self._signature = tool, signature_of(tool, function)
        self._key = key
        self._defaults: dict[str, Any] = {
            each.name: each.default
            for each in self._signature.parameters.values()
            if each.name != key and type(each.default) in _PLAIN
        }
        shown: dict[str, Any] = {"type": "object", "properties": {}, **parameters}
        properties: Any = shown["properties"]
        required = shown.get("required")
        if isinstance(properties, Mapping):
            named = cast("Mapping[str, Any]", properties).items()
            shown["properties"] = {name: part for name, part in named if name != key}
        if isinstance(required, list):
            names = cast("Any", required)
            shown["required"] = [name for name in names if name != key]
        self._schema = _schema_of(tool, shown)
        self.parameters: Mapping[str, Any] = shown

    def fit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return them as they are, with the function's own defaults for what is omitted."""
        self._schema.check(arguments)
        self._bind(arguments)
        return {**self._defaults, **arguments}

    def made(self, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others do
        """Return nothing: no part of them is made here."""
        return {}

    def bound(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return them as they are."""
        self._bind(arguments)
        return arguments

    def _bind(self, arguments: dict[str, Any]) -> None:
        held = arguments if self._key is None else {self._key: "", **arguments}
        try:
            self._signature.bind(**held)
        except TypeError:
            misfit(self._tool, "", "the function does not take these names")


def _schema_of(tool: str, schema: dict[str, Any]) -> Any:
    """Return what holds it against arguments. Raises `UsageError` without the library for it."""
    try:
        from retry_guard_functions._schemas import Schema  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        msg = f"{tool} has a schema of its own, and there is no {error.name}: "
        raise UsageError(f"{msg}pip install 'agent-retry-guard[openai]' or [anthropic]") from None
    return Schema(tool, schema)
