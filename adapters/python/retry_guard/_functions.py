"""What happens when somebody's function is called: it runs, or has to be awaited or iterated."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from retry_guard._answers import UsageError

_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_COROUTINE = inspect.CO_COROUTINE


def is_plain(function: Callable[..., Any], *, awaited: bool) -> bool:
    """Return whether it is clear at a glance that a call runs the function; else look closely.

    `awaited`: what it returns is awaited, where that is a coroutine.
    """
    inner = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(inner, FunctionType) or inner.__dict__:
        return False
    return not inner.__code__.co_flags & (_GENERATOR if awaited else _GENERATOR | _COROUTINE)


def called(function: Callable[..., Any]) -> Any:
    """Return what really runs when it is called: without partials, or its `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isfunction(function) or inspect.ismethod(function) or inspect.isclass(function):
        return function
    return getattr(function, "__call__", function)  # noqa: B004 - the method itself is looked at


def refuse_generator(tool: str, function: Callable[..., Any]) -> None:
    """Raise `UsageError` for a generator, which would run after it was recorded as done."""
    inner = called(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        msg = f"{tool} is a generator, which would run after it was recorded: return the whole"
        raise UsageError(msg)
