"""Whose call it is: scope, turn and place among its equals, from what LangGraph shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from retry_guard import Contract, UsageError, ordinal_of, outer_turn

Scope = str | Callable[[RunnableConfig], str]
"""The account that the tools act for, or how to find it in the configuration of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a call belongs. `turn`: None where no message of a person with an id is shown."""

    scope: str
    turn: str | None
    config: RunnableConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a guarded tool."""

    place: Place
    contract: Contract
    tool: BaseTool
    request: ToolCallRequest
    ordinal: int

    @property
    def id(self) -> str:
        """The call's id: for the answer and the audit, never an identity."""
        return self.request.tool_call["id"] or ""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.request.tool_call["name"]

    @property
    def named(self) -> dict[str, Any]:
        """The call as a guard takes it, but for its send."""
        return {
            "tool": self.name,
            "arguments": self.request.tool_call["args"],
            "scope": self.place.scope,
            "turn": self.place.turn,
            "call_id": self.request.tool_call["id"],
            "ordinal": self.ordinal,
        }


def config_of(request: ToolCallRequest) -> RunnableConfig:
    """Return the configuration of the run that makes a call."""
    runtime = cast("Any", request).runtime
    config: RunnableConfig = runtime.config
    return config


def place_of(scope: Scope, config: RunnableConfig, state: object, messages_key: str) -> Place:
    """Return scope and turn: that of an outer call for the same scope, as an agent's, counts.

    Raises `UsageError` if the scope cannot be found.
    """
    account = _scope(scope, config)
    turn = outer_turn(account) or _turn_of(messages_in(state, messages_key))
    return Place(scope=account, turn=turn, config=config)


def _scope(scope: Scope, config: RunnableConfig) -> str:
    if isinstance(scope, str):
        return scope
    try:
        found = cast("object", scope(config))
    except (KeyError, LookupError, TypeError, AttributeError) as error:
        msg = f"scope: the run's configuration does not say who it is for ({error!r}); nothing sent"
        raise UsageError(msg) from error
    if not isinstance(found, str) or not found:
        raise UsageError(f"scope: must give text that is not empty, not {found!r}; nothing sent")
    return found


def messages_in(state: object, key: str) -> list[Any]:
    """Return the messages of a graph's state, whatever form it has."""
    found: object
    if isinstance(state, list):
        found = cast("object", state)
    elif isinstance(state, Mapping):
        found = cast("Mapping[str, object]", state).get(key)
    else:
        found = getattr(state, key, None)
    return cast("list[Any]", found) if _is_list(found) else []


def _is_list(found: object) -> bool:
    return isinstance(found, list)


def _turn_of(messages: list[Any]) -> str | None:
    for message in reversed(messages):
        if getattr(message, "type", None) == "human":
            return getattr(message, "id", None) or None
    return None


def calls_in(message: object) -> list[dict[str, Any]]:
    """Return the tool calls of a message."""
    calls: list[dict[str, Any]] = getattr(message, "tool_calls", None) or []
    return calls


def calls_beside(request: ToolCallRequest, messages_key: str) -> list[dict[str, Any]]:
    """Return all calls of the message that holds a call; none where no message does."""
    for message in reversed(messages_in(request.state, messages_key)):
        calls = calls_in(message)
        if request.tool_call["id"] in [each.get("id") for each in calls]:
            return calls
    return []


def ordinal_in(contract: Contract, request: ToolCallRequest, messages_key: str) -> int:
    """Return which of the equal calls of its message a call is, where each counts."""
    if contract.twins != "count":
        return 0
    call = request.tool_call
    calls = calls_beside(request, messages_key)
    ids = [each.get("id") for each in calls]
    before = calls[: ids.index(call["id"])] if calls else []
    equal = [each["args"] for each in before if each["name"] == call["name"]]
    return ordinal_of(contract, call["args"], equal)
