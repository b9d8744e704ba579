"""JSON schemas of callers' own, held against arguments by the library `jsonschema`.

It is imported by this module only, which is imported for such a schema only. Nothing is fetched:
a reference out of the schema is refused.
"""

from collections.abc import Iterator
from typing import Any, cast

from jsonschema import exceptions
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from retry_guard import UsageError
from retry_guard_functions._shapes import misfit

_TOLD = {
    "enum": "must be one of those in the schema",
    "const": "must be the one in the schema",
    "required": "is required",
    "additionalProperties": "not allowed",
    "unevaluatedProperties": "not allowed",
    None: "not allowed",  # where the schema is `false`
}
_untyped: Any = exceptions


class Schema:
    """A schema that arguments can be held against."""

    def __init__(self, tool: str, schema: dict[str, Any]) -> None:
        """Raises `UsageError` for what is no schema, and for one that refers to another."""
        self._tool = tool
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except exceptions.SchemaError as error:
            where = _joined(error.absolute_path)
            what = f"{where}: {error.message}" if where else error.message
            raise UsageError(f"{tool}: parameters is no JSON schema: {what:.300}") from None
        self._validator: Any = kind(schema, registry=EMPTY_REGISTRY)
        resource = Resource[Any].from_contents(schema, default_specification=DRAFT202012)
        for ref in _lost(resource, EMPTY_REGISTRY.resolver_with_root(resource)):
            raise self._refers(ref)

    def check(self, arguments: dict[str, Any]) -> None:
        """Raise `ArgumentError` for what does not fit, with none of its values."""
        try:
            error = _untyped.best_match(self._validator.iter_errors(arguments))
        except Unresolvable as lost:
            raise self._refers(lost.ref) from None
        except RecursionError:
            misfit(self._tool, "", "they, or the schema, go too deep")
        if error is not None:
            misfit(self._tool, *_told(error))

    def _refers(self, ref: str) -> UsageError:
        msg = f"{self._tool}: its schema refers to {ref!r:.100}, which is not in it: write it out"
        return UsageError(msg)


def _lost(resource: Resource[Any], resolver: Any) -> Iterator[str]:
    """Yield the references that lead nowhere."""
    contents = resource.contents
    named = cast("dict[str, Any]", contents) if isinstance(contents, dict) else {}
    for name in ("$ref", "$dynamicRef"):
        ref = named.get(name)
        try:
            if isinstance(ref, str):
                resolver.lookup(ref)
        except (Unresolvable, ValueError):
            yield str(ref)
    for each in resource.subresources():
        yield from _lost(each, resolver.in_subresource(each))


def _told(error: Any) -> tuple[str, str]:
    """Return where arguments do not fit, and what would: in the schema's words."""
    keyword, rule, instance = error.validator, error.validator_value, error.instance
    where = [*error.absolute_path]
    if keyword == "required":
        where += [next(name for name in rule if name not in instance)]
    if keyword == "additionalProperties" and "patternProperties" not in error.schema:
        where += [next(name for name in instance if name not in error.schema.get("properties", ()))]
    if keyword == "type":
        kinds = [rule] if isinstance(rule, str) else rule
        return _joined(where), f"must be {' or '.join(kinds)}"
    return _joined(where), _TOLD.get(keyword, f"does not fit `{keyword}` in the schema")


def _joined(path: Any) -> str:
    return ".".join(map(str, path))
