"""Tools whose parameters are read from the function's own signature."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from retry_guard import UsageError
from retry_guard_functions._shapes import misfit

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_OWN_SCHEMA = "give FunctionTool(...) with a JSON schema"


class _Schema(GenerateJsonSchema):
    """Without a title for each field, and without a word on defaults that JSON cannot say."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic has it

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as pydantic calls it
        return False


class Signature:
    """The parameters of a function; `key`: the one that carries the key, which no model sees."""

    def __init__(self, tool: str, function: Callable[..., Any], key: str | None) -> None:
        """Read the signature. Raises `UsageError` for one that no JSON fits."""
        self._tool, self._key = tool, key
        given = signature_of(tool, function).parameters.values()
        hints, fields = _hints(tool, function), dict[str, Any]()
        self._names = dict[str, str]()
        for number, each in enumerate(each for each in given if each.kind in _NAMED):
            if each.name == key:
                continue
            missing = each.default is inspect.Parameter.empty
            default = Field(... if missing else each.default, alias=each.name)
            # A model's own attributes must not hide a parameter, so fields have other names.
            fields[f"f{number}"] = (hints.get(each.name, Any), default)
            self._names[f"f{number}"] = each.name
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given)
        self._model = _model(tool, fields, takes_any=takes_any)
        self.parameters: Mapping[str, Any] = _shown(tool, self._model)

    def fit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return them as the function's types write them, defaults included.

        As given, where what is written would not come back the same.
        """
        given = self._validated(arguments)
        try:
            written = given.model_dump(mode="json", by_alias=True, warnings="none")
            same = self._values(self._validated(written)) == self._values(given)
        except Exception:  # noqa: BLE001 - types of the user's own may do anything
            same, written = False, {}
        return written if same is True else arguments

    def bound(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the function's own values, and the key as it is."""
        if self._key is None or self._key not in arguments:
            return self._values(self._validated(arguments))
        rest = dict(arguments)
        key = rest.pop(self._key)
        return {**self._values(self._validated(rest)), self._key: key}

    def _validated(self, arguments: dict[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            misfit(self._tool, ".".join(map(str, first["loc"])), first["msg"])

    def _values(self, given: BaseModel) -> dict[str, Any]:
        named = {name: getattr(given, field) for field, name in self._names.items()}
        return {**named, **(given.model_extra or {})}


def body_of(function: Any) -> Any:
    """Return what runs when it is called: without partials, or the method `__call__`."""
    while isinstance(function, functools.partial):
        function = cast("Any", function).func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def signature_of(tool: str, function: Callable[..., Any]) -> inspect.Signature:
    """Return it. Raises `UsageError` if it cannot be read, or takes arguments without names."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{tool} has no signature that can be read: wrap it in a def") from error
    for each in found.parameters.values():
        if each.kind not in (*_NAMED, inspect.Parameter.VAR_KEYWORD):
            raise UsageError(f"{tool} takes {each}: a tool's arguments need names")
    return found


def _hints(tool: str, function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(body_of(function), include_extras=True)
    except Exception as error:
        kind = f"{type(error).__name__}: {error}"
        msg = f"{tool}: its annotations cannot be read ({kind}): {_OWN_SCHEMA}"
        raise UsageError(msg) from error


def _model(tool: str, fields: dict[str, Any], *, takes_any: bool) -> type[BaseModel]:
    try:
        config = ConfigDict(extra="allow" if takes_any else "forbid")
        made: type[BaseModel] = cast("Any", create_model)(tool, __config__=config, **fields)
        return made
    except (PydanticUserError, TypeError) as error:
        raise _unfit(tool, error) from error


def _shown(tool: str, model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_Schema)
    except PydanticUserError as error:
        raise _unfit(tool, error) from error
    return {name: part for name, part in schema.items() if name not in ("title", "description")}


def _unfit(tool: str, error: Exception) -> UsageError:
    what = str(error).partition("\n")[0]
    return UsageError(f"{tool}: no JSON schema fits its parameters ({what}): {_OWN_SCHEMA}")
