"""Whose code an exception passed through, as the stack frames of its traceback tell."""

import re
import sys
from collections.abc import Iterator
from types import FrameType

from retry_guard_outcomes._roots import CLIENTS, LIBRARIES, ONCE, RETRIERS
from retry_guard_outcomes._table import RESPONSES, names

TUNNELS = frozenset({"_tunnel", "_create_proxy_connection"})
"""Functions whose answer is that of a proxy, to CONNECT."""

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


def answers(frame: FrameType) -> list[object]:
    """Return the answers of servers that a function of a client holds."""
    # The frames of httpcore hold those of a proxy too; its caller holds the others.
    if root(frame) not in CLIENTS - {"httpcore", "httpcore2"} or frame.f_code.co_name in TUNNELS:
        return []
    held: list[object] = list(frame.f_locals.values())
    return [value for value in held if not RESPONSES.isdisjoint(names(type(value)))]


def carries(error: BaseException, answer: object) -> bool:
    """Whether the error is about this very answer."""
    about = getattr(error, "request_info", None)
    if about is not None and about is getattr(answer, "request_info", None):
        return True
    own = (error, getattr(error, "response", None), getattr(error, "fp", None))
    return any(answer is one for one in own)


def strangers(error: BaseException, counting: str) -> bool:
    """Whether the error passed through code that may have sent the call before.

    That is installed code that is not known, and code that a client called, except for a method
    that overrides one of the client's, or a hook that only refused the answer that it was given.
    `counting`: the root of a client that counts its tries.
    """
    passing, inside, its_own = list(frames(error)), False, False
    for number, frame in enumerate(passing):
        owner = root(frame)
        if owner in RETRIERS:
            return True
        if owner in LIBRARIES or owner in ONCE or owner == counting or _is_the_guard(owner):
            inside = inside or owner in CLIENTS
            its_own = its_own or any(carries(error, answer) for answer in answers(frame))
        elif owner in sys.stdlib_module_names:
            if not inside:
                return True
        elif _installed(frame) or not (not inside or its_own or _overrides(passing[number:])):
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
