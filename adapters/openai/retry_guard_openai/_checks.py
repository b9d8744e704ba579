"""What is refused before a model is asked."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from openai import NotGiven, Omit
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses

from retry_guard import UsageError
from retry_guard_functions import Toolbox, check_run
from retry_guard_openai._chat import Chat
from retry_guard_openai._responses import Conversation
from retry_guard_openai._session import Session

Blocking = Completions | Responses
Awaiting = AsyncCompletions | AsyncResponses

_FUNCTIONS = ("function", "namespace", None)
_NOT_HERE = {
    "stream": "use stream_tools for a stream, run_tools for none",
    "background": "a loop waits for each response",
    "functions": "put them into the toolbox",
    "function_call": "use tool_choice",
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
        kind = type(resource).__name__
        raise UsageError(f"give client.chat.completions or client.responses, not {kind}")
    blocking = isinstance(resource, Blocking)
    check_run(toolbox, scope=scope, turn=turn, max_rounds=max_rounds, blocking=blocking)
    create = {n: value for n, value in create.items() if not isinstance(value, NotGiven | Omit)}
    _check(create, isinstance(resource, Responses | AsyncResponses))
    talk = Conversation if isinstance(resource, Responses | AsyncResponses) else Chat
    tools = [*map(talk.tool, toolbox.tools.values()), *_own_tools(create.get("tools"))]
    asked = {**create, "tools": tools} if tools else create
    return Session(talk(asked), max_rounds)


def _check(create: Mapping[str, Any], responses: bool) -> None:  # noqa: FBT001 - which of the two
    name = "input" if responses else "messages"
    given = create.get(name)
    if not isinstance(given, list | tuple | (str if responses else list)):
        raise UsageError(f"{name}: give a list of the conversation so far; nothing was asked")
    for other, what in _NOT_HERE.items():
        if create.get(other):
            raise UsageError(f"{other}: {what}; nothing was asked")
    if create.get("n", 1) not in (1, None):
        raise UsageError("n: several answers would each call tools; leave it out")


def _own_tools(given: Any) -> Iterable[Any]:
    """Return the caller's own tools. Raises `UsageError` for functions, which no loop could run."""
    tools = list[Any](given or ())
    for tool in tools:
        if not isinstance(tool, Mapping) or cast("Any", tool).get("type") in _FUNCTIONS:
            raise UsageError("tools: put functions into the toolbox; built-in tools stand here")
    return tools
