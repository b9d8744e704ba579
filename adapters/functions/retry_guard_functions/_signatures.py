"""Tools whose parameters are read from the function's own signature."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from retry_guard import UsageError
from retry_guard_functions._parameters import MISSING, Parameter, field_of, has_factory
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
        self._parameters = list[Parameter]()
        for number, each in enumerate(each for each in given if each.kind in _NAMED):
            if each.name == key:
                continue
            # A model's own attributes must not hide a parameter, so fields have other names.
            name = f"f{number}"
            fields[name] = field_of(each, hints.get(each.name, Any))
            alone = _model(tool, {name: fields[name]}, takes_any=False)
            self._parameters.append(Parameter(each.name, name, alone))
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given)
        self._model = _model(tool, fields, takes_any=takes_any)
        self._makes = has_factory(self._model.__pydantic_core_schema__)
        self.parameters: Mapping[str, Any] = _shown(tool, self._model)

    def fit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return them as the function's types write them, defaults included.

        Each as given, where what is written would not come back the same.
        """
        given, again = self._validated(arguments), self._validated(arguments)
        written = {
            each.name: each.write(given, again, arguments.get(each.name, MISSING))
            for each in self._parameters
        }
        return _known({**arguments, **written})

    def made(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments in which a `default_factory` makes a part, with that part."""
        if not self._makes:
            return {}
        given = self._validated(self._shown(arguments))
        whole = {
            each.name: each.filled(given, arguments.get(each.name)) for each in self._parameters
        }
        return _known(whole)

    def bound(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the function's own values, and the key as it is."""
        given = self._validated(self._shown(arguments))
        values = {each.name: each.value(given) for each in self._parameters}
        return {**arguments, **(given.model_extra or {}), **values}

    def _shown(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in arguments.items() if name != self._key}

    def _validated(self, arguments: dict[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            misfit(self._tool, ".".join(map(str, first["loc"])), first["msg"])
        except Exception as error:  # noqa: BLE001 - validators of the user's own may do anything
            misfit(self._tool, "", f"{type(error).__name__} in a check of their types")


def _known(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not MISSING}


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
