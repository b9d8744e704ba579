"""What the client library did before the try that failed, as its stack frames tell.

A retry or a redirect leaves no trace in the exception, but the loop that made it is still on
the stack of the traceback, and keeps a list of what went before, or the answer itself.
"""

from collections.abc import Mapping
from typing import Any

from retry_guard_outcomes._roots import CLIENTS, LIBRARIES
from retry_guard_outcomes._stack import answers, carries, frames, passed, root, strangers
from retry_guard_outcomes._table import names

AGAIN = frozenset({"resolve_redirects", "handle_401", "http_error_302", "http_error_401"})
"""Functions of the libraries that run only for a further request."""

LOOPS = frozenset({"_send_handling_redirects", "_request"})
"""Functions of httpx and aiohttp that keep what went before in `history`."""

ASKING = frozenset({"request", "_request", "send", "stream", "urlopen"})
"""Functions of the clients that make a request; a URL can also be refused outside of them."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that are not the write."""


def counted(error: BaseException) -> bool:
    """Whether it can be told how often the library tried."""
    loops = "urllib3.MaxRetryError" in names(type(error))
    return not loops or passed(error, "urllib3", "urlopen")


def asking(error: BaseException) -> bool:
    """Whether the error arose in a request."""
    return any(root(f) in CLIENTS and f.f_code.co_name in ASKING for f in frames(error))


def earlier(error: BaseException, counting: str = "") -> list[BaseException] | None:
    """Return the errors of earlier tries; None: an earlier request may have run for all we know.

    `counting`: the root of a client that says by itself that this was its first try.
    """
    if strangers(error, counting):
        return None
    errors: list[BaseException] = []
    for frame in frames(error):
        owner, function, local = root(frame), frame.f_code.co_name, frame.f_locals
        if owner not in LIBRARIES:
            continue
        # An answer that the client already holds, other than the one that the error is about.
        if function in AGAIN or not all(carries(error, answer) for answer in answers(frame)):
            return None
        if function in LOOPS and (local.get("history") or _repeated(local)):
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
