"""What a tool is: a function, and what a model is told of it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from retry_guard import UsageError
from retry_guard_functions._shapes import Shape
from retry_guard_functions._signatures import Signature, body_of
from retry_guard_functions._stated import Stated

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function with a JSON schema of the caller's own.

    `parameters`: the schema of an object; `function` takes its properties as keyword arguments.
    Each call is held against it; `format` is for the model only.
    """

    name: str
    function: Function
    parameters: Mapping[str, Any]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A tool of a toolbox. `tool`: as a model is shown it. `awaited`: its function is async."""

    tool: FunctionTool
    shape: Shape
    awaited: bool


def fitted(given: Any, keys: Mapping[str, str | None]) -> dict[str, Fitted]:
    """Return the tools by name. `keys`: the parameter that carries the key, by tool.

    Raises `UsageError` for what is no tool, and for two with one name.
    """
    try:
        listed = list[Any](given)
    except TypeError as error:
        raise UsageError(f"tools: give a list of functions, not {type(given).__name__}") from error
    found = dict[str, Fitted]()
    for each in listed:
        one = _fit(each, keys)
        if one.tool.name in found:
            raise UsageError(f"tools: two are named {one.tool.name!r}: give them different names")
        found[one.tool.name] = one
    return found


def _fit(given: Any, keys: Mapping[str, str | None]) -> Fitted:
    if isinstance(given, FunctionTool):
        key = keys.get(_checked(given).name)
        shape: Shape = Stated(given.name, given.function, given.parameters, key)
    else:
        given = FunctionTool(
            name=_name(given), function=given, parameters={}, description=_told(given)
        )
        shape = Signature(given.name, given.function, keys.get(given.name))
    awaited = inspect.iscoroutinefunction(body_of(given.function))
    return Fitted(tool=replace(given, parameters=shape.parameters), shape=shape, awaited=awaited)


def _checked(tool: FunctionTool) -> FunctionTool:
    fields: tuple[Any, ...] = (tool.name, tool.description, tool.parameters)
    if not all(map(isinstance, fields, (str, str, Mapping))) or not tool.name:
        raise UsageError("FunctionTool: give name, description and parameters (a JSON schema)")
    if not callable(tool.function):
        raise UsageError(f"{tool.name}: give a function, not {type(tool.function).__name__}")
    return tool


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if not callable(function):
        raise UsageError(f"tools: give functions or FunctionTool, not {type(function).__name__}")
    if not isinstance(name, str) or not name.isidentifier():
        msg = "tools: one has no name of its own: give FunctionTool(name=..., ...)"
        raise UsageError(msg)
    return name


def _told(function: Function) -> str:
    return inspect.getdoc(function) or ""
