"""How the guard's answer is put into MCP's words: a result of the tool, or an error of it."""

import json
from typing import Any, assert_never

from retry_guard import (
    Done,
    GuardError,
    LedgerError,
    NotExecuted,
    NotExecutedError,
    Outcome,
    Unresolved,
    explain,
    unsent,
)
from retry_guard_mcp_proxy._judging import Answer
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, meta_of

MARK = "retry-guard/outcome"
"""The name in `_meta` of a result under which the guard says what only a client should see."""


_NO_PREVIEW = "no preview was made: the action is done already, and its result is"
_NO_RESULT = "no preview was made: the action is done already"


def answer_of(outcome: Outcome, own: Answer | None, *, structured: bool) -> Message:
    """Return what an answer to the client holds: `result` or `error`.

    `own`: what this call's last send was answered with. `structured`: the tool declares an
    output schema, so that clients look for structured content in its results.
    """
    match outcome:
        case Done(value, replayed, warning):
            if own is not None and "result" in own.response and value is own.result:
                result = value
            else:
                result = _shown(value, warning, structured=structured)
            note = {"replayed": replayed, "warning": warning}
            return {"result": _noted(result, note) if replayed or warning else result}
        case NotExecuted(error):
            if error is own and own is not None:
                return {n: own.response[n] for n in ("result", "error") if n in own.response}
            return {"result": failed(str(NotExecutedError(outcome)))}
        case Unresolved():
            return {"result": _noted(failed(outcome.text), _known(outcome))}
        case _:
            assert_never(outcome)


def other_shape(outcome: Done) -> Message:
    """Return the answer to a preview that is given with the result of the action itself.

    It is no result of the tool that was called, and would be refused as one by its schema.
    """
    note, value = {"replayed": outcome.replayed, "warning": outcome.warning}, outcome.value
    shown = value if is_result(value) else _shown(value, outcome.warning, structured=False)
    content = [_text(_NO_RESULT if value is None else _NO_PREVIEW), *shown["content"]]
    return {"result": _noted({"content": content, "isError": True}, note)}


def _known(outcome: Unresolved) -> Message:
    return {
        "action": outcome.action,
        "reason": outcome.reason,
        "not_before": outcome.not_before,
    }


def unfinished(tool: str, action: str | None) -> Message:
    """Return the answer to a call whose client waits no longer. `action`: None: not begun yet."""
    if action is None:
        return {"result": failed(unsent("no_time", tool))}
    runs = Unresolved(action, "still_running", tool=tool)
    return {"result": _noted(failed(explain(runs)), _known(runs))}


def misplaced(tool: str) -> Message:
    """Return the answer to a call that gives input which was asked for by another call."""
    return {"result": failed(unsent("other_input", tool))}


def refused(tool: str, error: GuardError) -> Message:
    """Return the answer to a call that could not be guarded, so that nothing was sent.

    What a ledger says is for the operator, and without it nothing is known of earlier calls.
    """
    is_blind = isinstance(error, LedgerError)
    return {"result": failed(unsent("ledger_failed", tool) if is_blind else str(error))}


def failed(text: str) -> Message:
    """Return a result that says that the call failed: no output schema is held against it."""
    return {"content": [_text(text)], "isError": True}


def complete(answer: Message) -> Message:
    """Return the answer as the generation without sessions (2026-07-28) wants it."""
    result = answer.get("result")
    if not is_object(result) or "resultType" in result:
        return answer
    return {**answer, "result": {**result, "resultType": "complete"}}


def is_result(value: object) -> bool:
    """Whether it is a tool's result; else one has to be made of it."""
    return is_object(value) and is_list(value.get("content"))


def _shown(value: Any, warning: str | None, *, structured: bool) -> Any:
    """The recorded result; or, of what a read showed or a person said, a result that holds it."""
    if is_result(value):
        return value
    if value is None:
        text = warning or "null"
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if structured and is_object(value):
        return {"content": [_text(text)], "structuredContent": value, "isError": False}
    # Without structured content a client would refuse it as a result, and lose what it says.
    return {"content": [_text(text)], "isError": structured}


def _noted(result: Any, note: Message) -> Any:
    if not is_object(result):
        return result
    return {**result, "_meta": {**meta_of(result), MARK: note}}


def _text(text: str) -> Message:
    return {"type": "text", "text": text}
