"""The one question that this package answers."""

from dataclasses import replace

from retry_guard_outcomes import _http, _mcp
from retry_guard_outcomes._bodies import body_read, parsed
from retry_guard_outcomes._ends import Done, NotExecuted, Unknown
from retry_guard_outcomes._errors import of_exception
from retry_guard_outcomes._processes import of_process
from retry_guard_outcomes._table import PROCESSES, RESPONSES, names

_ENDS = (Done, NotExecuted, Unknown)

_DATA = frozenset({type(None), bool, int, float, str, bytes, list, tuple})
"""Classes whose values say nothing of how a send ended."""


def classify(outcome: object) -> Done | NotExecuted | Unknown:
    """Return what a value or an exception proves about the write that gave it.

    `NotExecuted` only where nothing can have run: no connection was made, the call was refused
    before it was sent, or the server says so by a convention; and only if no retry, redirect or
    other error stands behind it. A failed read (GET, HEAD, OPTIONS) proves nothing of a write.
    `Done` for a success, and for every plain value. Everything else is `Unknown`. Never raises.

    It sees the last request of a send: a send that makes several writes has to catch the errors
    of the later ones itself. An error that passed through an installed package that it does not
    know is `Unknown`, since that may have sent the call before; a package of your own, which sends
    once, says so by `__sends_once__ = True` in the module. A GET that `urllib.request` had
    answered is `Unknown` too: it may follow a write that was redirected. A body that `send` has not
    read is not looked at, so read it where it may list what failed.
    """
    if isinstance(outcome, _ENDS):
        return outcome
    if isinstance(outcome, BaseException):
        return of_exception(outcome)
    return _of_value(outcome)


def classify_body(outcome: object) -> Done | NotExecuted | Unknown:
    """Return the same, but where an HTTP answer is done, the value is its body.

    That is the parsed JSON, or else the text, or bytes that are no text: unlike a response object,
    a ledger can keep it and give it to an equal call. So let `send` return the response, whose
    status says what happened, with its body read: the value of one whose body was not read, or not
    kept (by `http.client` and `urllib.request`, or in a stream), remains the response itself.
    """
    end = classify(outcome)
    if not isinstance(end, Done):
        return end
    value: object = end.value
    if RESPONSES.isdisjoint(names(type(value))):
        return end
    body = body_read(value)
    return end if body is None else replace(end, value=parsed(body))


def _of_value(value: object) -> Done | NotExecuted | Unknown:
    kind: type[object] = type(value)
    if kind in _DATA:
        return Done(value)
    if kind is dict:
        return _mcp.of_mapping(value) if _mcp.is_plain(value) else Done(value)
    known = names(kind)
    if not RESPONSES.isdisjoint(known):
        return _http.of_answer(value)
    if "subprocess.CompletedProcess" in known or not PROCESSES.isdisjoint(known):
        return of_process(value)
    if "mcp.CallToolResult" in known:
        return _mcp.of_result(value)
    if "mcp.CreateTaskResult" in known:
        return Unknown(value, hint="accepted")
    if "mcp.InputRequiredResult" in known or "retry_guard.Unresolved" in known:
        return Unknown(value)
    return _mcp.of_mapping(value) if _mcp.is_plain(value) else Done(value)
