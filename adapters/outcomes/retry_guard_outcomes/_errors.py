"""What an exception proves, with everything that it was raised from or while handling."""

from collections.abc import Iterator
from typing import cast

from retry_guard_outcomes import _http, _mcp, _tries
from retry_guard_outcomes._ends import Done, NotExecuted, NotExecutedError, Unknown
from retry_guard_outcomes._processes import of_process
from retry_guard_outcomes._table import names, proof_of


def of_exception(error: BaseException) -> NotExecuted | Unknown:
    """Return `NotExecuted` only if the error and all that stands behind it prove it.

    What a library caught and turned into an error with proof is covered by that proof; what the
    caller itself handled, before it made this request, has to prove it too.
    """
    end = _alone(error)
    if isinstance(end, Unknown) or _tries.method_of(error) in _tries.SAFE:
        return Unknown(error) if end is None else Unknown(error, getattr(end, "hint", None))
    rest, seen, proven = [(error, False)], set[tuple[int, bool]](), False
    while rest:
        other, covered = rest.pop()
        if (id(other), covered) in seen:
            continue
        seen.add((id(other), covered))
        verdict = None if covered else _alone(other)
        past = _tries.earlier(other)
        if isinstance(verdict, Unknown) or past is None:
            return Unknown(error)
        proven = proven or verdict is not None
        vouches = covered or verdict is not None
        rest += [(e, False) for e in past]
        rest += [(e, vouches and _tries.caught_by_library(e)) for e in _behind(other)]
    return (end or NotExecuted(error)) if proven else Unknown(error)


def _alone(error: BaseException) -> NotExecuted | Unknown | None:
    """Return what the error proves by itself; None: what it holds or wraps decides."""
    if isinstance(error, NotExecutedError):
        return NotExecuted(error, rejected=error.outcome.rejected)
    if isinstance(error, BaseExceptionGroup):
        return None
    if "subprocess.CalledProcessError" in names(type(error)):
        return _raised(of_process(error, error), error)
    match proof_of(type(error)):
        case "nothing_sent":
            return NotExecuted(error)
        case "as_its_cause":
            return None if _tries.counted(error) else Unknown(error)
        case "as_its_status":
            answer = getattr(error, "response", None)
            return _raised(_http.of_answer(error if answer is None else answer, error), error)
        case "as_its_code":
            return _mcp.of_error(error)
        case "unknown":
            return NotExecuted(error) if _before_anything(error) else Unknown(error)


def _raised(end: Done | NotExecuted | Unknown, error: BaseException) -> NotExecuted | Unknown:
    """Return the end of what was raised: whatever it carries, that is no result."""
    return Unknown(error) if isinstance(end, Done) else end


def _before_anything(error: BaseException) -> bool:
    """Whether it arose in a TLS handshake, or as a process was to be started."""
    if "ssl.SSLError" in names(type(error)):
        return _tries.passed(error, "ssl", "do_handshake")
    return isinstance(error, OSError) and _tries.raised_in(error, "subprocess", "_execute_child")


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield what an error holds, wraps, or was raised from or while handling."""
    held: tuple[object, ...] = (getattr(error, "reason", None), *error.args)
    if isinstance(error, BaseExceptionGroup):
        held = cast("tuple[object, ...]", error.exceptions)
    for other in (error.__cause__, error.__context__, *held):
        if isinstance(other, BaseException):
            yield other
