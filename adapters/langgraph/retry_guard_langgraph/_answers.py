"""How the guard's answer is put into the harness's own words: its messages and exceptions."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from retry_guard import ArgumentError, Done, NotExecuted, Unresolved, unsent
from retry_guard_langgraph._bodies import answering
from retry_guard_langgraph._calls import ToolCall
from retry_guard_langgraph._forms import shown
from retry_guard_langgraph._probe import Ran, Shown
from retry_guard_langgraph._results import marked, noted

Outcome = Done | NotExecuted
NOTHING_RAN: dict[str, object] = {"not_executed": True}


def settled(
    call: ToolCall,
    outcome: Outcome,
    ran: Ran | None,
    handler: Callable[[ToolCallRequest], Shown],
) -> Shown:
    """Return what this call's own send gave, or a recorded result as the tool itself shows it.

    Raises what the send raised, and `NotExecutedError` where another call found that nothing ran.
    """
    if isinstance(outcome, NotExecuted):
        return _failed(outcome, ran)
    result = _own(outcome, ran) or _kept(call, outcome)
    if result is None:
        result = handler(_answering(call, outcome))
    return _noted(result, outcome)


async def settled_awaited(
    call: ToolCall,
    outcome: Outcome,
    ran: Ran | None,
    handler: Callable[[ToolCallRequest], Awaitable[Shown]],
) -> Shown:
    """Return the same, from a handler that is awaited."""
    if isinstance(outcome, NotExecuted):
        return _failed(outcome, ran)
    result = _own(outcome, ran) or _kept(call, outcome)
    if result is None:
        result = await handler(_answering(call, outcome))
    return _noted(result, outcome)


def _own(outcome: Done, ran: Ran | None) -> Shown | None:
    """What this call's own send gave; None: the result is another's."""
    if isinstance(outcome.value, Ran):  # the guard only looks on
        ran = outcome.value
    elif ran is None or outcome.value is not ran.kept:
        return None
    if ran.raised is not None:
        raise ran.raised
    return ran.shown


def _failed(outcome: NotExecuted, ran: Ran | None) -> Shown:
    if ran is not None and ran.raised is not None:
        raise ran.raised
    if ran is None or ran.shown is None:
        outcome.unwrap()
    return marked(ran.shown, NOTHING_RAN)


def _kept(call: ToolCall, outcome: Done) -> Shown | None:
    result = shown(outcome.value, call.id)
    if result is None and outcome.value is None and outcome.warning:
        return message(call, outcome.warning, "success")
    return result


def _answering(call: ToolCall, outcome: Done) -> ToolCallRequest:
    return call.request.override(tool=answering(call.tool, outcome.value))


def _noted(result: Shown, outcome: Done) -> Shown:
    """The result; where it is a replay, or a warning goes with it, with a note that says so."""
    if not outcome.replayed and outcome.warning is None:
        return result
    return marked(result, {"replayed": outcome.replayed, "warning": outcome.warning})


def unresolved(call: ToolCall, outcome: Unresolved) -> ToolMessage:
    """The answer to a call that ends without a known outcome, or that was refused."""
    known: dict[str, object] = {
        "action": outcome.action,
        "reason": outcome.reason,
        "not_before": outcome.not_before,
    }
    return noted(message(call, outcome.text, "error"), known)


def refused(call: ToolCall, error: ArgumentError) -> ToolMessage:
    """The answer to arguments that cannot be guarded."""
    return noted(message(call, str(error), "error"), NOTHING_RAN)


def not_called(request: ToolCallRequest) -> ToolMessage:
    """The answer to a call that may pause, behind another one that may."""
    call = request.tool_call
    text = unsent("behind_a_question", call["name"])
    made = ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
    return noted(made, NOTHING_RAN)


def not_taken(request: ToolCallRequest, hidden: str) -> ToolMessage:
    """The answer to a call that gives what no model is shown: the key is the guard's to give."""
    call = request.tool_call
    text = f"{call['name']}: {hidden} is not to be given; nothing was sent"
    made = ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
    return noted(made, NOTHING_RAN)


def message(call: ToolCall, text: str, status: Any) -> ToolMessage:
    """An answer to the model."""
    return ToolMessage(content=text, name=call.name, tool_call_id=call.id, status=status)
