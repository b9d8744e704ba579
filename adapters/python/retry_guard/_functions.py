"""What happens when somebody's function is called: it runs, or has to be awaited or iterated."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from retry_guard._answers import UsageError

_ODD = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def is_plain(function: Callable[..., Any]) -> bool:
    """Return whether it is clear at a glance that a call runs the function; else look closely."""
    if not isinstance(function, FunctionType) or function.__dict__:
        return False
    return not function.__code__.co_flags & _ODD


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
