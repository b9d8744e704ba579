"""How a result is stored as data, and shown again."""

from typing import Any, Literal, cast

from langchain_core.messages import (
    BaseMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langgraph.types import Command, Send

from retry_guard_langgraph._probe import Shown

_MARK = "retry_guard_langgraph"
_SHOWN = ("content", "artifact", "status", "name", "additional_kwargs", "response_metadata")
_PLAIN = frozenset({type(None), bool, int, float, str})


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
    return {_MARK: kind, **fields}


def _opened(value: object, call_id: str) -> object:
    if isinstance(value, list | tuple):
        parts = [_opened(each, call_id) for each in cast("list[object]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    opened: dict[str, Any] = {
        name: _opened(each, call_id) for name, each in fields.items() if name != _MARK
    }
    made: object = opened
    match fields.get(_MARK):
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
