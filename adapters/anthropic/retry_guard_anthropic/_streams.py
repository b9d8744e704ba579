"""The loop as an iterator of the SDK's own events."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any, Self

from retry_guard import UsageError
from retry_guard_anthropic._conversation import Conversation, ToolRun
from retry_guard_anthropic._dispatch import Dispatch
from retry_guard_anthropic._heard import Heard


class _Ending:
    """How the run of a stream ended, once its events have ended."""

    def __init__(self, talk: Conversation, dispatch: Dispatch) -> None:
        """Nothing is asked for before the first event is."""
        self._talk, self._dispatch, self._ended = talk, dispatch, False

    @property
    def run(self) -> ToolRun:
        """Return how the run ended. Raises `UsageError` before the last event."""
        if not self._ended:
            raise UsageError("read the stream to its end before asking for its run")
        return self._talk.end()


class ToolStream(_Ending, Iterator[Any]):
    """The events of all the messages of one run, one after the other; then `run` tells of it.

    Tools run between two messages, when the next event is asked for. `close` stops the run there.
    """

    def __init__(self, resource: Any, talk: Conversation, dispatch: Dispatch) -> None:
        """See `run_tools`."""
        super().__init__(talk, dispatch)
        self._events = self._all(resource)

    def __iter__(self) -> Self:
        """Return itself: the events come once."""
        return self

    def __next__(self) -> Any:
        """Return the next event."""
        return next(self._events)

    def close(self) -> None:
        """Read no further."""
        self._events.close()

    def _all(self, resource: Any) -> Generator[Any]:
        while not self._talk.over:
            heard = Heard()
            with resource.stream(**self._talk.request()) as stream:
                for event in stream:
                    heard.hear(event)
                    yield event
                message = stream.get_final_message()
            calls = self._talk.take(message, heard)
            self._talk.answered(calls, self._dispatch.now(calls))
        self._ended = True


class AsyncToolStream(_Ending, AsyncIterator[Any]):
    """The same, awaited; the calls of one message run together."""

    def __init__(self, resource: Any, talk: Conversation, dispatch: Dispatch) -> None:
        """See `run_tools`."""
        super().__init__(talk, dispatch)
        self._events = self._all(resource)

    def __aiter__(self) -> Self:
        """Return itself: the events come once."""
        return self

    async def __anext__(self) -> Any:
        """Return the next event."""
        return await anext(self._events)

    async def aclose(self) -> None:
        """Read no further."""
        await self._events.aclose()

    async def _all(self, resource: Any) -> AsyncGenerator[Any]:
        while not self._talk.over:
            heard = Heard()
            async with resource.stream(**self._talk.request()) as stream:
                async for event in stream:
                    heard.hear(event)
                    yield event
                message = await stream.get_final_message()
            calls = self._talk.take(message, heard)
            self._talk.answered(calls, await self._dispatch.awaited(calls))
        self._ended = True
