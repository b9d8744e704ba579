"""What a send through the harness proves, and how its result is stored and shown again."""

from typing import Any, Literal, cast

from langchain_core.messages import (
    BaseMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langgraph.types import Command, Send

from retry_guard import Contract, Done, NotExecuted, Unknown
from retry_guard_langgraph._probe import Ran, Shown
from retry_guard_langgraph._traces import judged_by

End = Done | NotExecuted | Unknown
MARK = "retry_guard_langgraph"
NOTE = "retry_guard"
"""Where a message carries what the guard has to say of it, for the application."""
_SHOWN = ("content", "artifact", "status", "name", "additional_kwargs", "response_metadata")
_PLAIN = frozenset({type(None), bool, int, float, str})


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


def is_plain(value: object) -> bool:
    """Whether it is data that a tool shows in the same way after it was stored."""
    if type(value) in _PLAIN:
        return True
    if type(value) in (list, tuple):
        return all(is_plain(each) for each in cast("list[object]", value))
    if type(value) is dict:
        items = cast("dict[object, object]", value).items()
        return all(type(name) is str and is_plain(each) for name, each in items)
    return False


def stored(value: object, call_id: str) -> object:
    """Return a result as data, as far as it can be; what cannot be kept stays as it is.

    A message that answers the call itself is kept without the call's id, since another call may
    be shown it.
    """
    match value:
        case ToolMessage() if value.tool_call_id == call_id:
            return _form("answer", **{name: getattr(value, name) for name in _SHOWN})
        case BaseMessage():
            return _form("message", data=message_to_dict(value))
        case Command():
            fields: dict[str, object] = {
                name: stored(getattr(cast("object", value), name), call_id)
                for name in ("graph", "update", "resume", "goto")
            }
            return _form("command", **fields)
        case Send():
            given = stored(value.arg, call_id)
            return _form("send", node=value.node, arg=given, timeout=value.timeout)
        case _ if type(value) in (list, tuple):
            parts = [stored(each, call_id) for each in cast("list[object]", value)]
            return parts if isinstance(value, list) else tuple(parts)
        case _ if type(value) is dict:
            named = cast("dict[str, object]", value)
            return {name: stored(each, call_id) for name, each in named.items()}
        case _:
            return value


def shown(value: object, call_id: str) -> Shown | None:
    """Return what was stored of a shown result; None for a value that the tool has to show."""
    found: Any = _opened(value, call_id)
    if isinstance(found, ToolMessage | Command):
        return cast("Shown", found)
    parts: list[Any] = [*found] if type(found) is list else []
    if parts and all(isinstance(part, ToolMessage | Command) for part in parts):
        return parts
    return None


def _form(kind: Literal["answer", "message", "command", "send"], **fields: Any) -> object:
    return {MARK: kind, **fields}


def _opened(value: object, call_id: str) -> object:
    if isinstance(value, list | tuple):
        parts = [_opened(each, call_id) for each in cast("list[object]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    opened: dict[str, Any] = {
        name: _opened(each, call_id) for name, each in fields.items() if name != MARK
    }
    made: object = opened
    match fields.get(MARK):
        case "answer":
            made = ToolMessage(tool_call_id=call_id, **opened)
        case "message":
            made = messages_from_dict([fields["data"]])[0]
        case "command":
            made = Command(**opened)
        case "send":
            made = Send(**opened)
        case _:
            pass
    return made


def marked(result: Shown, note: dict[str, object]) -> Shown:
    """Return a message with a note beside its content, where neither model nor tool looks."""
    return noted(result, note) if isinstance(result, ToolMessage) else result


def noted(message: ToolMessage, note: dict[str, object]) -> ToolMessage:
    """Return the message with a note."""
    more = {**message.additional_kwargs, NOTE: note}
    return message.model_copy(update={"additional_kwargs": more})
