"""What an exception proves, with everything that it was raised from or while handling."""

from collections.abc import Iterator
from typing import cast

from retry_guard_outcomes import _http, _mcp, _stack, _tries
from retry_guard_outcomes._ends import Done, NotExecuted, NotExecutedError, Unknown
from retry_guard_outcomes._processes import of_process
from retry_guard_outcomes._table import names, proof_of


def of_exception(error: BaseException) -> NotExecuted | Unknown:
    """Return `NotExecuted` only if the error and all that stands behind it prove it.

    What a library caught and turned into an error with proof is covered by that proof; what the
    caller itself handled, before it made this request, has to prove it too.
    """
    end = _alone(error)
    if isinstance(end, Unknown):
        return end
    counting = _http.counting_client(error)
    reached = list(_reached(error))
    covered = {id(one) for one, by_proof in reached if by_proof}
    ends = [_alone(one) for one, _ in reached if id(one) not in covered]
    proven = any(isinstance(other, NotExecuted) for other in ends)
    doubted = any(isinstance(other, Unknown) for other in ends) or any(
        _tries.earlier(one, counting) is None for one, _ in reached
    )
    # What failed was a read: the write may have been made before it.
    if doubted or not proven or _tries.method_of(error) in _tries.SAFE:
        return Unknown(error)
    return end or NotExecuted(error)


def _reached(error: BaseException) -> Iterator[tuple[BaseException, bool]]:
    """Yield the error, all that stands behind it, and whether a proof covers each."""
    rest, seen = [(error, False)], set[tuple[int, bool]]()
    while rest:
        one, by_proof = rest.pop()
        if (id(one), by_proof) in seen:
            continue
        seen.add((id(one), by_proof))
        yield one, by_proof
        vouches = by_proof or _nothing_sent(one)
        rest += [(other, False) for other in _tries.earlier(one) or ()]
        rest += [(other, vouches and _stack.caught_by_library(other)) for other in _behind(one)]


def _alone(error: BaseException) -> NotExecuted | Unknown | None:
    """Return what the error proves by itself; None: what it holds or wraps decides."""
    if isinstance(error, NotExecutedError):
        return NotExecuted(error, rejected=error.outcome.rejected)
    if isinstance(error, BaseExceptionGroup):
        return None
    if "subprocess.CalledProcessError" in names(type(error)):
        return _raised(of_process(error, error), error)
    if _nothing_sent(error):
        return NotExecuted(error)
    match proof_of(type(error)):
        case "as_its_cause":
            return None if _tries.counted(error) else Unknown(error)
        case "as_its_status":
            answer = getattr(error, "response", None)
            return _raised(_http.of_answer(error if answer is None else answer, error), error)
        case "as_its_code":
            return _mcp.of_error(error)
        case "nothing_sent" | "not_asked" | "unknown":
            return Unknown(error)


def _raised(end: Done | NotExecuted | Unknown, error: BaseException) -> NotExecuted | Unknown:
    """Return the end of what was raised: whatever it carries, that is no result."""
    return Unknown(error) if isinstance(end, Done) else end


def _nothing_sent(error: BaseException) -> bool:
    """Whether its kind proves it, or the place: a TLS handshake, a tunnel, a start of a process."""
    match proof_of(type(error)):
        case "nothing_sent":
            return True
        case "not_asked":
            return _tries.asking(error)
        case _:
            pass
    if "ssl.SSLError" in names(type(error)):
        return _stack.passed(error, "ssl", "do_handshake")
    refused = ("_execute_child", "subprocess"), ("_tunnel", "http", "urllib3")
    return isinstance(error, OSError) and any(_stack.raised_in(error, *at) for at in refused)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield what an error holds, wraps, or was raised from or while handling."""
    held: tuple[object, ...] = (getattr(error, "reason", None), *error.args)
    if isinstance(error, BaseExceptionGroup):
        held = cast("tuple[object, ...]", error.exceptions)
    for other in (error.__cause__, error.__context__, *held):
        if isinstance(other, BaseException):
            yield other
