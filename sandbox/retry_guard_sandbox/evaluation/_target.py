"""The function that is put to the test: `module:function`, called with a prompt and tools."""

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from retry_guard import GuardError
from retry_guard_sandbox.serving import Host
from retry_guard_sandbox.world._http import Json


class TargetError(GuardError):
    """There is nothing to run: it cannot be found, imported or called. The message says why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the task. `parameters`: the JSON schema of its arguments.

    Called with keyword arguments it returns the text that a model would see, which is JSON; an
    error is `{"error": ...}` and never raised. Any thread may call; calls are serialised.
    Raises `HostGoneError` once the episode is over.
    """

    name: str
    description: str
    parameters: Json
    host: Host

    def __call__(self, **arguments: Any) -> str:  # noqa: ANN401 - any JSON
        """Call it; return the text of the answer."""
        return self.host.call(self.name, arguments).text


Scaffold = Callable[[str, Sequence[Tool]], Any]


def tools_of(host: Host) -> tuple[Tool, ...]:
    """Return the tools that a scaffold gets."""
    return tuple(Tool(o.name, o.description, o.parameters, host) for o in host.offers)


def play(function: Scaffold, prompt: str, host: Host) -> None:
    """Call it, and await what it returns if that is to be awaited."""
    returned = function(prompt, tools_of(host))
    if inspect.isawaitable(returned):
        asyncio.run(_awaited(returned))


async def _awaited(returned: Any) -> None:  # noqa: ANN401 - anything awaitable
    await returned


def load(target: str) -> Scaffold:
    """Import `module:function`, from the working directory first.

    Raises `TargetError`; whatever the module itself raises is put into it.
    """
    module, _, path = target.partition(":")
    if not module or not path:
        raise TargetError(f"{target}: give module:function, or -- and a command")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - as entries of sys.path are: strings
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - the same
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}".strip()
        raise TargetError(f"cannot import {module}: {what}; run it where it lies") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise TargetError(f"{module} has no {path}: name a function in it")
        found = getattr(found, name)
    return checked(found, target)


def checked(function: Any, name: str) -> Scaffold:  # noqa: ANN401 - this is what finds out
    """Return the function; raises `TargetError` where it cannot take a prompt and tools."""
    if not callable(function):
        raise TargetError(f"{name} is a {type(function).__name__}, no function")
    try:
        inspect.signature(function).bind("prompt", ())
    except TypeError as error:
        raise TargetError(
            f"{name}{inspect.signature(function)} cannot be called as function(prompt, tools): "
            f"{error}"
        ) from error
    except ValueError:  # a built-in function that does not tell its parameters
        pass
    scaffold: Scaffold = function
    return scaffold
