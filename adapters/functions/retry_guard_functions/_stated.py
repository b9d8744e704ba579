"""Tools with a JSON schema of the caller's own.

What is held against it: type, enum, const, required, properties, additionalProperties, items,
anyOf, oneOf, allOf, and $ref inside the schema. Other keywords are for the model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from retry_guard import UsageError
from retry_guard_functions._shapes import misfit
from retry_guard_functions._signatures import signature_of


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class Stated:
    """A schema as it was given, but for the property that carries the key."""

    def __init__(
        self,
        tool: str,
        function: Callable[..., Any],
        parameters: Mapping[str, Any],
        key: str | None,
    ) -> None:
        """Take the schema. Raises `UsageError` if it is none of an object."""
        if parameters.get("type", "object") != "object":
            raise UsageError(f"{tool}: parameters must be the JSON schema of an object")
        self._tool, self._signature = tool, signature_of(tool, function)
        self._key = key
        shown: dict[str, Any] = {"type": "object", "properties": {}, **parameters}
        shown["properties"] = {n: s for n, s in shown["properties"].items() if n != key}
        if "required" in shown:
            shown["required"] = [name for name in shown["required"] if name != key]
        self.parameters: Mapping[str, Any] = shown

    def fit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return them as they are."""
        for where, what in _faults(arguments, self.parameters, self.parameters, ""):
            misfit(self._tool, where, what)
        self._bind(arguments)
        return arguments

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


def _faults(value: Any, schema: Any, root: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield where a value does not fit a schema, and what would."""
    if not isinstance(schema, Mapping):
        if schema is False:
            yield where, "not allowed"
        return
    rule = cast("Mapping[str, Any]", schema)
    if "$ref" in rule:
        yield from _faults(value, _target(rule["$ref"], root), root, where)
    kinds = rule.get("type")
    names = [kinds] if isinstance(kinds, str) else cast("list[str]", kinds or [])
    if names and not any(_TYPES.get(name, bool)(value) for name in names):
        yield where, f"must be {' or '.join(names)}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield where, "must be one of those in the schema"
    if "const" in rule and value != rule["const"]:
        yield where, "must be the one in the schema"
    yield from _combined(value, rule, root, where)
    if isinstance(value, dict):
        yield from _in_object(cast("dict[str, Any]", value), rule, root, where)
    if isinstance(value, list):
        for number, each in enumerate(cast("Iterable[Any]", value)):
            yield from _faults(each, rule.get("items"), root, _step(where, str(number)))


def _combined(
    value: Any, rule: Mapping[str, Any], root: Any, where: str
) -> Iterator[tuple[str, str]]:
    for each in rule.get("allOf", ()):
        yield from _faults(value, each, root, where)
    for name in ("anyOf", "oneOf"):
        found = [next(_faults(value, each, root, where), None) for each in rule.get(name, ())]
        if found and None not in found:
            yield where, f"fits none of {name} in the schema"


def _in_object(
    value: dict[str, Any], rule: Mapping[str, Any], root: Any, where: str
) -> Iterator[tuple[str, str]]:
    known: Mapping[str, Any] = rule.get("properties", {})
    for name in rule.get("required", ()):
        if name not in value:
            yield _step(where, name), "is required"
    for name, each in value.items():
        part = known.get(name, rule.get("additionalProperties"))
        yield from _faults(each, part, root, _step(where, name))


def _step(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _target(ref: Any, root: Any) -> Any:
    """Return the part that a `#/…` names; nothing is held against any other."""
    found = root
    for step in str(ref).removeprefix("#/").split("/"):
        found = cast("Mapping[str, Any]", found).get(step) if isinstance(found, Mapping) else None
    return found
