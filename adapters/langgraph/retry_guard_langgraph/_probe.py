"""A tool that tells what its body did: whether it ran, and what it returned or raised.

A harness shows less: it makes text of results, and some tools make results of errors. The body
runs once for each send; what calls it again within one (a retry inside the guard) meets the
first end once more.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from retry_guard import Contract, UsageError
from retry_guard_langgraph._bodies import Body, only_awaited, with_bodies
from retry_guard_langgraph._traces import own_part

Shown = ToolMessage | Command[Any] | list[Any]

UNKNOWN = object()
"""The end of a body that has not ended."""


@dataclass(slots=True)
class Ran:
    """One send through the harness. `shown` and `raised`: how it ended outside of the tool.

    `reached`: the harness called the tool. `entered`: its body ran, and ended with `value` or
    `error`, which had come as far as `trace`. `paused`: it paused, before it did anything.
    `kept`: its result, as it is stored.
    """

    contract: Contract
    call_id: str = ""
    reached: bool = False
    entered: bool = False
    value: Any = UNKNOWN
    error: BaseException | None = None
    trace: TracebackType | None = None
    shown: Shown | None = None
    raised: BaseException | None = None
    paused: bool = False
    kept: Any = UNKNOWN
    barred: bool = False
    _door: threading.Lock = field(default_factory=threading.Lock)

    def enter(self) -> bool:
        """Whether the body may run: only once, and not after it was barred."""
        with self._door:
            first = not (self.entered or self.barred)
            self.entered = self.entered or first
            return first

    def bar(self) -> bool:
        """Let the body not run any more; False: it has begun.

        LangChain runs functions in threads, which go on after a run was cancelled.
        """
        with self._door:
            self.barred = not self.entered
            return self.barred

    def failed(self, error: BaseException) -> None:
        """The body raised this."""
        self.error, self.trace = error, own_part(error)

    def again(self) -> Any:
        """Return or raise what the body did the first time."""
        if self.barred:
            raise UsageError(f"{self.contract.tool}: the run was cancelled, nothing was sent")
        if self.error is not None:
            raise self.error
        if self.value is UNKNOWN:
            raise UsageError(f"{self.contract.tool} is called again while it runs: nothing sent")
        return self.value


def probed(tool: BaseTool, ran: Ran, more: Mapping[str, Any]) -> BaseTool:
    """Return the tool with a body that tells `ran`; `more` goes to it beside its arguments."""

    def once(body: Body) -> Body:
        def run(*args: Any, **kwargs: Any) -> Any:
            if not ran.enter():
                return ran.again()
            try:
                ran.value = body(*args, **{**kwargs, **more})
            except BaseException as error:
                ran.failed(error)
                raise
            return ran.value

        return run

    def once_awaited(body: Callable[..., Awaitable[Any]]) -> Body:
        async def run(*args: Any, **kwargs: Any) -> Any:
            if not ran.enter():
                return ran.again()
            try:
                ran.value = await body(*args, **{**kwargs, **more})
            except BaseException as error:
                ran.failed(error)
                raise
            return ran.value

        return run

    return _reached(with_bodies(tool, None if only_awaited(tool) else once, once_awaited), ran)


def _reached(tool: BaseTool, ran: Ran) -> BaseTool:
    for name in ("run", "arun"):
        object.__setattr__(tool, name, _telling(getattr(tool, name), ran))
    return tool


def _telling(method: Body, ran: Ran) -> Body:
    def call(*args: Any, **kwargs: Any) -> Any:
        ran.reached = True
        return method(*args, **kwargs)

    return call
