"""What a send through the harness proves, and the notes that its result carries."""

from typing import Any

from langchain_core.messages import ToolMessage

from retry_guard import Contract, Done, NotExecuted, Unknown
from retry_guard_langgraph._forms import is_plain, stored
from retry_guard_langgraph._probe import Ran, Shown
from retry_guard_langgraph._traces import judged_by

End = Done | NotExecuted | Unknown
NOTE = "retry_guard"
"""Where a message carries what the guard has to say of it, for the application."""


def judge(ran: Ran, classify: Any) -> End:
    """Return what one send proves: the body's own end first, then how the harness shows it."""
    end = _end(ran, classify)
    if isinstance(end, Done):
        ran.kept = end.value
    return end


def _end(ran: Ran, classify: Any) -> End:
    end: End
    if ran.paused:
        return NotExecuted(ran.raised)
    if not ran.entered:
        return _outside(ran, classify)
    if ran.error is not None:
        end = judged_by(ran.trace, ran.error, classify)
        return _proven(ran.contract, ran.error, end)
    end = classify(ran.value)
    if not isinstance(end, Done):
        return _proven(ran.contract, ran.value, end)
    if _is_error(ran.shown) and ran.raised is None:
        return _proven(ran.contract, _text(ran.shown), Unknown(_text(ran.shown)))
    return Done(stored(end.value if is_plain(ran.value) else ran.shown, ran.call_id))


def _outside(ran: Ran, classify: Any) -> End:
    """The body did not run. That proves something only where the harness had called the tool."""
    if ran.raised is not None:
        return NotExecuted(ran.raised) if ran.reached else classify(ran.raised)
    if _is_error(ran.shown):
        return NotExecuted(ran.shown) if ran.reached else Unknown(_text(ran.shown))
    return Done(stored(ran.shown, ran.call_id))


def _proven(contract: Contract, fact: object, end: End) -> End:
    return NotExecuted(fact) if contract.proves_nothing_ran(fact) else end


def _is_error(shown: Shown | None) -> bool:
    return isinstance(shown, ToolMessage) and shown.status == "error"


def _text(shown: Shown | None) -> str:
    return str(shown.content) if isinstance(shown, ToolMessage) else str(shown)


def marked(result: Shown, note: dict[str, object]) -> Shown:
    """Return a message with a note beside its content, where neither model nor tool looks."""
    return noted(result, note) if isinstance(result, ToolMessage) else result


def noted(message: ToolMessage, note: dict[str, object]) -> ToolMessage:
    """Return the message with a note."""
    more = {**message.additional_kwargs, NOTE: note}
    return message.model_copy(update={"additional_kwargs": more})
