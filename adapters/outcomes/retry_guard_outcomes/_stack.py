"""Whose code an exception passed through, as the stack frames of its traceback tell."""

import re
import sys
from collections.abc import Iterator
from types import FrameType

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

CLIENTS = frozenset(
    {"aiohttp", "http", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib", "urllib3"}
)
"""Those that make requests; code that they call is a hook, or overrides a method of theirs."""

ONCE = frozenset(
    {
        "exceptiongroup",
        "fastmcp",
        "functools",
        "h11",
        "h2",
        "idna",
        "mcp",
        "outcome",
        "smtplib",
        "sniffio",
        "socks",
        "socksio",
        "trio",
        "truststore",
    }
)
"""Roots of other modules that are known not to send a call again."""

RETRIERS = frozenset(
    {
        "aiohttp_retry",
        "backoff",
        "failsafe",
        "google",
        "hyx",
        "httpx_retries",
        "opnieuw",
        "retry",
        "retry2",
        "retrying",
        "riprova",
        "stamina",
        "tenacity",
        "xmlrpc",
    }
)
"""Roots of packages that call again, wherever they lie; how often is not told."""

INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")


def frames(error: BaseException) -> Iterator[FrameType]:
    """Yield the frames that the error passed through, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def root(frame: FrameType) -> str:
    """Return the root of the module that a frame belongs to."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def passed(error: BaseException, module: str, function: str) -> bool:
    """Whether the error passed through the function."""
    return any(root(f) == module and f.f_code.co_name == function for f in frames(error))


def raised_in(error: BaseException, function: str, *modules: str) -> bool:
    """Whether the function itself, of one of the modules, raised the error."""
    last = list(frames(error))[-1:]
    return any(root(frame) in modules and frame.f_code.co_name == function for frame in last)


def caught_by_library(error: BaseException) -> bool:
    """Whether a library raised the error and handled it itself: the caller never saw it."""
    outermost = next(frames(error), None)
    return outermost is not None and root(outermost) in LIBRARIES


def strangers(error: BaseException, counting: str) -> bool:
    """Whether the error passed through code that may have sent the call before.

    That is installed code that is not known, and any code that a client called, except for a
    method that overrides one of the client's. `counting`: the root of a client that counts.
    """
    passing, inside = list(frames(error)), False
    for number, frame in enumerate(passing):
        owner = root(frame)
        if owner in RETRIERS:
            return True
        if owner in LIBRARIES or owner in ONCE or owner == counting or _is_the_guard(owner):
            inside = inside or owner in CLIENTS
        elif owner in sys.stdlib_module_names:
            if not inside:
                return True
        elif _installed(frame) or (inside and not _overrides(passing[number:])):
            return True
    return False


def _is_the_guard(owner: str) -> bool:
    return owner == "retry_guard" or owner.startswith("retry_guard_")


def _installed(frame: FrameType) -> bool:
    """Whether it is not the caller's own code, unless its module says that it is."""
    own = frame.f_globals.get("__sends_once__") is True
    return not own and INSTALLED.search(frame.f_code.co_filename) is not None


def _overrides(rest: list[FrameType]) -> bool:
    """Whether the first frame hands the call on to the client's method of the same name."""
    after = next((frame for frame in rest if root(frame) in CLIENTS), None)
    return after is not None and after.f_code.co_name == rest[0].f_code.co_name
