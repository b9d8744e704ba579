"""Calls that are not to be carried out, by what LangGraph shows of their message.

LangGraph hands the answers of a task out in the order in which its code asks, whichever call that
is, and tools run side by side. So of the calls that may pause, only the first can be asked about;
a person's answer would else be taken for that to another call.
"""

from collections.abc import Collection

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from retry_guard_langgraph._calls import calls_beside, calls_in, config_of, messages_in
from retry_guard_langgraph._results import NOTE


def is_behind(request: ToolCallRequest, pausing: Collection[str], messages_key: str) -> bool:
    """Whether an earlier call of the same message and task may pause, as this one may."""
    call = request.tool_call
    if call["name"] not in pausing or _alone(config_of(request)):
        return False
    calls = calls_beside(request, messages_key)
    same = [(each.get("id"), each["name"], each["args"]) for each in calls]
    mine = (call["id"], call["name"], call["args"])
    before = calls[: same.index(mine)] if mine in same else []
    return any(each["name"] in pausing for each in before)


def _alone(config: RunnableConfig) -> bool:
    """Whether a call is a task of its own, as in `create_agent`."""
    path: tuple[object, ...] = (config.get("metadata") or {}).get("langgraph_path", ())
    return path[:1] == ("__pregel_push",)


def rejection(request: ToolCallRequest, messages_key: str) -> ToolMessage | None:
    """Return the error that a call was answered with elsewhere, as by a person who rejected it.

    What comes from a guard has a note. None: it is still without an answer.
    """
    name = request.tool_call["id"]
    for message in reversed(messages_in(request.state, messages_key)):
        if isinstance(message, ToolMessage) and message.tool_call_id == name:
            elsewhere = message.status == "error" and NOTE not in message.additional_kwargs
            return message.model_copy(update={"id": None}) if elsewhere else None
        if name in [each.get("id") for each in calls_in(message)]:
            return None
    return None
