"""A tool that tells what its body did: whether it ran, and what it returned or raised.

A harness shows less: it makes text of results, and some tools make results of errors. The body
runs once for each send; what calls it again within one (a retry inside the guard) meets the
first end once more.
"""

import copy
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from retry_guard import Contract, UsageError

Shown = ToolMessage | Command[Any] | list[Any]
Body = Callable[..., Any]

UNKNOWN = object()
"""The end of a body that has not ended."""


@dataclass(slots=True)
class Ran:
    """One send through the harness. `shown` and `raised`: how it ended outside of the tool.

    `reached`: the harness called the tool. `entered`: its body ran, and ended with `value` or
    `error`. `paused`: it paused, before it did anything. `kept`: its result, as it is stored.
    """

    contract: Contract
    reached: bool = False
    entered: bool = False
    value: Any = UNKNOWN
    error: BaseException | None = None
    shown: Shown | None = None
    raised: Exception | None = None
    paused: bool = False
    kept: Any = UNKNOWN

    def again(self) -> Any:
        """Return or raise what the body did the first time."""
        if self.error is not None:
            raise self.error
        if self.value is UNKNOWN:
            raise UsageError(f"{self.contract.tool} is called again while it runs: nothing sent")
        return self.value


def probed(tool: BaseTool, ran: Ran, more: Mapping[str, Any]) -> BaseTool:
    """Return the tool with a body that tells `ran`; `more` goes to it beside its arguments."""

    def once(body: Body) -> Body:
        @functools.wraps(body)
        def run(*args: Any, **kwargs: Any) -> Any:
            if ran.entered:
                return ran.again()
            ran.entered = True
            try:
                ran.value = body(*args, **{**kwargs, **more})
            except BaseException as error:
                ran.error = error
                raise
            return ran.value

        return run

    def once_awaited(body: Callable[..., Awaitable[Any]]) -> Body:
        @functools.wraps(body)
        async def run(*args: Any, **kwargs: Any) -> Any:
            if ran.entered:
                return ran.again()
            ran.entered = True
            try:
                ran.value = await body(*args, **{**kwargs, **more})
            except BaseException as error:
                ran.error = error
                raise
            return ran.value

        return run

    return _reached(_with_body(tool, once, once_awaited), ran)


def answering(tool: BaseTool, value: object) -> BaseTool:
    """Return the tool with a body that only returns this: its result as the tool would show it."""
    both = tool.response_format == "content_and_artifact" and not _is_pair(value)
    given = (value, value) if both else value

    def once(body: Body) -> Body:
        return functools.wraps(body)(lambda *_, **__: given)

    def once_awaited(body: Callable[..., Awaitable[Any]]) -> Body:
        @functools.wraps(body)
        async def run(*_: Any, **__: Any) -> Any:
            return given

        return run

    return _with_body(tool, once, once_awaited)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004 # pyright: ignore[reportUnknownArgumentType] - of anything


def _with_body(
    tool: BaseTool, once: Callable[[Body], Body], once_awaited: Callable[[Body], Body]
) -> BaseTool:
    other = copy.copy(tool)
    # What a subclass of BaseTool overrides; an instance may hide it.
    object.__setattr__(other, "_run", once(tool._run))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the documented hook
    object.__setattr__(other, "_arun", once_awaited(tool._arun))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the documented hook
    return other


def _reached(tool: BaseTool, ran: Ran) -> BaseTool:
    for name in ("run", "arun"):
        object.__setattr__(tool, name, _telling(getattr(tool, name), ran))
    return tool


def _telling(method: Body, ran: Ran) -> Body:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        ran.reached = True
        return method(*args, **kwargs)

    return call
