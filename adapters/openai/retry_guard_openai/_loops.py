"""The loops: whole answers and streams, blocking and awaited."""

from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any, overload

from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

from retry_guard_functions import Rounds, Toolbox, keeping
from retry_guard_openai._checks import Awaiting, Blocking, session_of
from retry_guard_openai._runs import Run
from retry_guard_openai._session import Session


@overload
def run_tools(
    resource: Completions | Responses,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Run: ...
@overload
def run_tools(
    resource: AsyncCompletions | AsyncResponses,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Coroutine[Any, Any, Run]: ...
def run_tools(
    resource: Blocking | Awaiting,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Run | Coroutine[Any, Any, Run]:
    """Ask a model until it calls no more tools, and carry its calls out: `client.responses`, ….

    `resource`: `client.chat.completions` or `client.responses`; that of an async client gives
    something to be awaited, and then the calls of one message run together. `scope`: the account
    that the tools act for. `turn`: the id of the user's message, the same for every run that
    answers it; None where none is known. `max_rounds`: how often the model is asked at most.
    `create`: as `create` of the resource takes it, with `messages=` or `input=`; `tools=` are
    built-in ones, beside those of the toolbox.
    Raises `UsageError` before the model is asked, `LedgerError` before a tool is called, and what
    the SDK raises; what tools had done by then stays recorded, and a run in the same turn
    replays it. `calls_before(error)` gives the calls that were made by then.
    """
    session = session_of(
        resource, toolbox, scope=scope, turn=turn, max_rounds=max_rounds, create=create
    )
    rounds = Rounds(toolbox, scope=scope, turn=turn)
    if isinstance(resource, Blocking):
        return _run(resource, session, rounds)
    return _run_awaited(resource, session, rounds)


def _run(resource: Any, session: Session, rounds: Rounds) -> Run:
    with keeping(rounds):
        while not session.over:
            calls = session.take(session.talk.read(resource.create(**session.arguments())))
            session.put(rounds.call(calls))
    return session.run()


async def _run_awaited(resource: Any, session: Session, rounds: Rounds) -> Run:
    with keeping(rounds):
        while not session.over:
            calls = session.take(session.talk.read(await resource.create(**session.arguments())))
            session.put(await rounds.call_awaited(calls))
    return session.run()


@overload
def stream_tools(
    resource: Completions,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Generator[ChatCompletionChunk | Run]: ...
@overload
def stream_tools(
    resource: Responses,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Generator[ResponseStreamEvent | Run]: ...
@overload
def stream_tools(
    resource: AsyncCompletions,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> AsyncGenerator[ChatCompletionChunk | Run]: ...
@overload
def stream_tools(
    resource: AsyncResponses,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> AsyncGenerator[ResponseStreamEvent | Run]: ...
def stream_tools(
    resource: Blocking | Awaiting,
    toolbox: Toolbox,
    *,
    scope: str,
    turn: str | None,
    max_rounds: int = 10,
    **create: Any,
) -> Generator[Any] | AsyncGenerator[Any]:
    """Do the same as `run_tools`, in streams: give the SDK's own events, and at last the `Run`.

    Only a message that came to its end is acted on, once its last event was taken; whoever stops
    before has run none of its calls.
    """
    session = session_of(
        resource, toolbox, scope=scope, turn=turn, max_rounds=max_rounds, create=create
    )
    rounds = Rounds(toolbox, scope=scope, turn=turn)
    if isinstance(resource, Blocking):
        return _stream(resource, session, rounds)
    return _stream_awaited(resource, session, rounds)


def _stream(resource: Any, session: Session, rounds: Rounds) -> Generator[Any]:
    with keeping(rounds):
        while not session.over:
            reader = session.talk.reader()
            with resource.create(**session.arguments(), stream=True) as events:
                for event in events:
                    reader.feed(event)
                    yield event
            calls = session.take(reader.reply())
            session.put(rounds.call(calls))
    yield session.run()


async def _stream_awaited(resource: Any, session: Session, rounds: Rounds) -> AsyncGenerator[Any]:
    with keeping(rounds):
        while not session.over:
            reader = session.talk.reader()
            async with await resource.create(**session.arguments(), stream=True) as events:
                async for event in events:
                    reader.feed(event)
                    yield event
            calls = session.take(reader.reply())
            session.put(await rounds.call_awaited(calls))
    yield session.run()
