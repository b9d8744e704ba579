"""The call that is under way here: the SDK hands it to tools, but not to MCP servers and reads."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from agents import RunContextWrapper

Context = RunContextWrapper[Any]


class _Caller:
    """A call; once it is over, whoever still has it, as a task that it began, finds none."""

    def __init__(self, context: Context | None) -> None:
        self.context = context


_UNDER_WAY: ContextVar[_Caller | None] = ContextVar("retry_guard_agents", default=None)
_ANNOUNCED: ContextVar[_Caller | None] = ContextVar("retry_guard_announced", default=None)


@contextmanager
def calling(context: Context | None) -> Generator[None]:
    """Say whose call is carried out inside."""
    caller = _Caller(context)
    token = _UNDER_WAY.set(caller)
    try:
        yield
    finally:
        caller.context = None
        _UNDER_WAY.reset(token)


def announce(context: Context) -> None:
    """Say who makes the next call of a server."""
    _ANNOUNCED.set(_Caller(context))


def announced() -> Context | None:
    """Return, once, who was announced; else whose call is carried out here, if any is."""
    caller = _ANNOUNCED.get()
    context = None if caller is None else caller.context
    if caller is None or context is None:
        return caller_here()
    caller.context = None
    return context


def caller_here() -> Context | None:
    """Return whose call is carried out here; None outside of any."""
    caller = _UNDER_WAY.get()
    return None if caller is None else caller.context
