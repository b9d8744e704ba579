"""A tool that tells what its body did: whether it ran, and what it returned or raised.

A harness shows less: it makes text of results, and some tools make results of errors. The body
runs once for each send; what calls it again within one (a retry inside the guard) meets the
first end once more.
"""

import copy
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

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

    async def later(*_: Any, **__: Any) -> Any:
        return given

    return _with_body(tool, lambda _: lambda *_, **__: given, lambda _: later)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004 # pyright: ignore[reportUnknownArgumentType] - of anything


def _with_body(
    tool: BaseTool, once: Callable[[Body], Body], once_awaited: Callable[[Body], Body]
) -> BaseTool:
    other = copy.copy(tool)
    # What a subclass of BaseTool overrides; an instance may hide it.
    for name, made in (("_run", once), ("_arun", once_awaited)):
        body: Body = getattr(tool, name)
        object.__setattr__(other, name, _shaped(made(body), body))
    return other


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


def _reached(tool: BaseTool, ran: Ran) -> BaseTool:
    for name in ("run", "arun"):
        object.__setattr__(tool, name, _telling(getattr(tool, name), ran))
    return tool


def _telling(method: Body, ran: Ran) -> Body:
    def call(*args: Any, **kwargs: Any) -> Any:
        ran.reached = True
        return method(*args, **kwargs)

    return call
