"""What is refused before a model is asked."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from anthropic import NotGiven, Omit
from anthropic.resources.beta.messages import (
    AsyncMessages as AsyncBetaMessages,
    Messages as BetaMessages,
)
from anthropic.resources.messages import AsyncMessages, Messages

from retry_guard import UsageError
from retry_guard_anthropic._blocks import Param, param_of
from retry_guard_anthropic._session import Session
from retry_guard_anthropic._tools import tool_param
from retry_guard_anthropic._twins import untwinned_history
from retry_guard_functions import Toolbox, check_run

Blocking = Messages | BetaMessages
Awaiting = AsyncMessages | AsyncBetaMessages

_NOT_HERE = {
    "stream": "use stream_tools for a stream, run_tools for none",
    "thread": "the history is sent whole in each round",
}


def session_of(
    resource: Any,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int,
    create: Mapping[str, Any],
) -> Session:
    """Return a run that has not begun. Raises `UsageError` for one that cannot work."""
    if not isinstance(resource, Blocking | Awaiting):
        kind = f"{type(resource).__module__}.{type(resource).__name__}"
        raise UsageError(f"give Anthropic's client.messages or client.beta.messages, not {kind}")
    blocking = isinstance(resource, Blocking)
    check_run(toolbox, scope=scope, turn=turn, max_rounds=max_rounds, blocking=blocking)
    create = {n: value for n, value in create.items() if not isinstance(value, NotGiven | Omit)}
    for name, what in _NOT_HERE.items():
        if create.get(name):
            raise UsageError(f"{name}: {what}; nothing was asked")
    own = [tool_param(tool) for tool in toolbox.tools.values()]
    tools = [*own, *_own_tools(toolbox, create.get("tools"))]
    asked = {**create, "tools": tools} if tools else create
    return Session(toolbox, _messages(create.get("messages")), asked, max_rounds)


def _messages(given: Any) -> list[Param]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise UsageError("messages: give a list of the conversation so far; nothing was asked")
    return [*untwinned_history(map(param_of, cast("Any", given)))]


def _own_tools(toolbox: Toolbox, given: Any) -> list[Any]:
    """Return the caller's own tools, such as web search. Raises `UsageError` for what is none."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable | None):
        raise UsageError("tools: give a list of definitions, such as web search")
    tools = list[Any](cast("Any", given or ()))
    for tool in tools:
        if not isinstance(tool, Mapping):
            raise UsageError("tools: put functions into the toolbox; definitions stand here")
        name = cast("Mapping[str, Any]", tool).get("name")
        if name in toolbox.tools:
            raise UsageError(f"tools: the toolbox has a {name!r} too: give it another name")
    return tools
