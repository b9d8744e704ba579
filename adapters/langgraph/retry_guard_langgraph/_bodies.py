"""Tools with another body, which LangChain takes for their own."""

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool, Tool

Body = Callable[..., Any]


def answering(tool: BaseTool, value: object) -> BaseTool:
    """Return the tool with a body that only returns this: its result as the tool would show it."""
    both = tool.response_format == "content_and_artifact" and not _is_pair(value)
    given = (value, value) if both else value

    async def later(*_: Any, **__: Any) -> Any:
        return given

    return with_bodies(tool, lambda _: lambda *_, **__: given, lambda _: later)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004 # pyright: ignore[reportUnknownArgumentType] - of anything


def with_bodies(
    tool: BaseTool, blocking: Callable[[Body], Body] | None, awaited: Callable[[Body], Body]
) -> BaseTool:
    """Return the tool with bodies that are made of its own; None: it keeps that one."""
    other = copy.copy(tool)
    # What a subclass of BaseTool overrides; an instance may hide it.
    for name, make in (("_run", blocking), ("_arun", awaited)):
        if make is not None:
            body: Body = getattr(tool, name)
            object.__setattr__(other, name, _shaped(make(body), body))
    return other


def only_awaited(tool: BaseTool) -> bool:
    """Whether a tool is made of a coroutine function: its other body does nothing but refuse."""
    refusing = [getattr(kind, "_run") for kind in (StructuredTool, Tool)]  # noqa: B009 - a part that subclasses override
    return getattr(type(tool), "_run") in refusing and getattr(tool, "func", None) is None  # noqa: B009 - the same


def _shaped(run: Body, body: Body) -> Body:
    """Give a body the signature and annotations of another: LangChain looks for parameters."""
    shape = _shape(getattr(body, "__func__", body))
    for name, value in zip(("__signature__", "__annotations__"), shape, strict=True):
        setattr(run, name, value)
    return run


@functools.lru_cache(maxsize=1024)
def _shape(function: Body) -> tuple[inspect.Signature, dict[str, Any]]:
    signature = inspect.signature(function)
    kept = [each for name, each in signature.parameters.items() if name != "self"]
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - LangChain takes what it cannot read as no hint, too
        hints = {}
    return signature.replace(parameters=kept), hints
