"""`run_tools`: ask the model, run its calls through the guard, until it is done."""

from collections.abc import Coroutine
from typing import Any, Literal, overload

from anthropic.resources.beta.messages import (
    AsyncMessages as AsyncBetaMessages,
    Messages as BetaMessages,
)
from anthropic.resources.messages import AsyncMessages, Messages

from retry_guard import UsageError
from retry_guard_anthropic._conversation import Conversation, ToolRun
from retry_guard_anthropic._dispatch import Dispatch
from retry_guard_anthropic._heard import Read
from retry_guard_anthropic._streams import AsyncToolStream, ToolStream
from retry_guard_functions import Toolbox

MAX_ROUNDS = 50


@overload
def run_tools(
    resource: Messages | BetaMessages,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    stream: Literal[False] = False,
    max_rounds: int = MAX_ROUNDS,
    **create: Any,
) -> ToolRun: ...
@overload
def run_tools(
    resource: Messages | BetaMessages,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    stream: Literal[True],
    max_rounds: int = MAX_ROUNDS,
    **create: Any,
) -> ToolStream: ...
@overload
def run_tools(
    resource: AsyncMessages | AsyncBetaMessages,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    stream: Literal[False] = False,
    max_rounds: int = MAX_ROUNDS,
    **create: Any,
) -> Coroutine[Any, Any, ToolRun]: ...
@overload
def run_tools(
    resource: AsyncMessages | AsyncBetaMessages,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    stream: Literal[True],
    max_rounds: int = MAX_ROUNDS,
    **create: Any,
) -> AsyncToolStream: ...
def run_tools(
    resource: Any,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    stream: bool = False,
    max_rounds: int = MAX_ROUNDS,
    messages: Any = None,
    tools: Any = (),
    **create: Any,
) -> Any:
    """Run a conversation until the model asks for no more tools; return a `ToolRun`.

    `resource`: `client.messages` or `client.beta.messages`; that of an async client gives an
    awaitable. `stream=True` gives an iterator of the SDK's events whose `run` is the `ToolRun`.
    `scope`: the account that the tools act for. `turn`: the id of the user's message; None where
    none is known. `max_rounds`: requests to the model at most. `messages`, `model`, `max_tokens`
    and the rest go to the model; `tools` are added to those of the toolbox.

    Raises `UsageError` before anything is sent, what the model's API raises, and `LedgerError`;
    what ran by then is recorded, and a new run with the same turn runs nothing twice.
    """
    match resource:
        case Messages() | BetaMessages():
            blocking = True
        case AsyncMessages() | AsyncBetaMessages():
            blocking = False
        case _:
            raise UsageError("run_tools takes client.messages or client.beta.messages")
    toolbox.check_run(scope=scope, turn=turn, blocking=blocking)
    talk = Conversation(
        toolbox, max_rounds=max_rounds, messages=messages, tools=tools, create=create
    )
    dispatch = Dispatch(toolbox, scope, turn)
    if stream:
        return (ToolStream if blocking else AsyncToolStream)(resource, talk, dispatch)
    return (_run if blocking else _run_awaited)(resource, talk, dispatch)


def _run(resource: Any, talk: Conversation, dispatch: Dispatch) -> ToolRun:
    while not talk.over:
        calls = talk.take(resource.create(**talk.request()), Read())
        talk.answered(calls, dispatch.now(calls))
    return talk.end()


async def _run_awaited(resource: Any, talk: Conversation, dispatch: Dispatch) -> ToolRun:
    while not talk.over:
        calls = talk.take(await resource.create(**talk.request()), Read())
        talk.answered(calls, await dispatch.awaited(calls))
    return talk.end()
