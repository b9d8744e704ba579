"""What the client library did before the try that failed, as its stack frames tell.

A retry or a redirect leaves no trace in the exception, but the loop that made it is still on
the stack of the traceback, and keeps a list of what went before.
"""

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from retry_guard_outcomes._table import names

LIBRARIES = frozenset(
    {
        "aiohappyeyeballs",
        "aiohttp",
        "anyio",
        "asyncio",
        "concurrent",
        "contextlib",
        "http",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "queue",
        "requests",
        "socket",
        "ssl",
        "subprocess",
        "urllib",
        "urllib3",
        "yarl",
    }
)
"""Roots of modules that handle their own errors; what they caught was theirs."""

RETRIERS = frozenset(
    {
        "aiohttp_retry",
        "backoff",
        "hyx",
        "httpx_retries",
        "opnieuw",
        "pyfailsafe",
        "retry",
        "retry2",
        "retrying",
        "riprova",
        "stamina",
        "tenacity",
    }
)
"""Roots of packages that call again; how often is not told."""

AGAIN = frozenset({"resolve_redirects", "handle_401", "http_error_302", "http_error_401"})
"""Functions of the libraries that run only for a further request."""

LOOPS = frozenset({"_send_handling_redirects", "_request"})
"""Functions of httpx and aiohttp that keep what went before in `history`."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that are not the write."""


def frames(error: BaseException) -> Iterator[FrameType]:
    """Yield the frames that the error passed through, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def root(frame: FrameType) -> str:
    """Return the root of the module that a frame belongs to."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def caught_by_library(error: BaseException) -> bool:
    """Whether a library raised the error and handled it itself: the caller never saw it."""
    outermost = next(frames(error), None)
    return outermost is not None and root(outermost) in LIBRARIES


def passed(error: BaseException, module: str, function: str) -> bool:
    """Whether the error passed through the function."""
    return any(root(f) == module and f.f_code.co_name == function for f in frames(error))


def raised_in(error: BaseException, module: str, function: str) -> bool:
    """Whether the function itself raised the error."""
    last = list(frames(error))[-1:]
    return [(root(frame), frame.f_code.co_name) for frame in last] == [(module, function)]


def counted(error: BaseException) -> bool:
    """Whether it can be told how often the library tried."""
    loops = "urllib3.MaxRetryError" in names(type(error))
    return not loops or passed(error, "urllib3", "urlopen")


def earlier(error: BaseException) -> list[BaseException] | None:
    """Return the errors of earlier tries; None: an earlier request may have run for all we know."""
    errors: list[BaseException] = []
    for frame in frames(error):
        owner, function, local = root(frame), frame.f_code.co_name, frame.f_locals
        if owner in RETRIERS or (owner in LIBRARIES and function in AGAIN):
            return None
        if owner in LIBRARIES and function in LOOPS and (local.get("history") or _repeated(local)):
            return None
        if (owner, function) == ("urllib3", "urlopen"):
            past: Any = getattr(local.get("retries"), "history", ())
            if any(entry.error is None for entry in past):
                return None
            errors += [entry.error for entry in past]
    return errors


def _repeated(local: Mapping[str, Any]) -> bool:
    """Whether aiohttp has sent a PUT or DELETE again, after its connection was closed."""
    repeatable = str(local.get("method")).upper() in {"PUT", "DELETE"}
    return repeatable and local.get("retry_persistent_connection") is False


def method_of(error: BaseException) -> str:
    """Return the method of the request that failed; empty: not known."""
    request = getattr(error, "_request", None) or getattr(error, "request_info", None)
    request = request or vars(error).get("request")
    method = getattr(request, "method", None)
    for frame in frames(error):
        known = {("urllib3", "urlopen"), ("aiohttp", "_request")}
        if method is None and (root(frame), frame.f_code.co_name) in known:
            method = frame.f_locals.get("method")
    return str(method or "").upper()
