"""Which part of an exception's traceback is the tool's own.

What an exception proves hangs on the code that it passed through: code that is not known may have
made the call before. The harness's own code around a tool's function is known: it calls it once.
"""

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")

_AROUND = frozenset(
    {
        "concurrent.futures.thread",
        "langchain_core.runnables.config",  # where it runs a function in a thread
        "langchain_core.tools.base",
        "langchain_core.tools.simple",
        "langchain_core.tools.structured",
        "retry_guard_langgraph._probe",
    }
)


def own_part(error: BaseException) -> TracebackType | None:
    """Return its traceback without the harness's frames around the tool's function."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _AROUND:
        trace = trace.tb_next
    return trace


def judged_by(
    trace: TracebackType | None, error: BaseException, classify: Callable[[BaseException], T]
) -> T:
    """Classify an exception that has come further, as one that had this traceback."""
    whole = error.__traceback__
    error.__traceback__ = trace
    try:
        return classify(error)
    finally:
        error.__traceback__ = whole
