"""The two ways to carry out what blocks: in this thread, or awaiting it."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from retry_guard._answers import UsageError
from retry_guard._clock import Clock, LedgerClock


class Hands(Protocol):
    """How a driver calls what is not its own. `cancelled`: asked to stop, not yet obeyed."""

    cancelled: BaseException | None

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the user's function."""
        ...

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the ledger; once begun, it is carried to its end."""
        ...

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Let time pass."""
        ...


class SyncHands:
    """Everything happens in this thread, and nothing ever suspends."""

    cancelled: BaseException | None = None

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it; a coroutine that comes back has not begun and is refused."""
        result = function(*arguments)
        if inspect.iscoroutine(result):
            result.close()
            raise UsageError("an async function was given to Guard: use AsyncGuard")
        return result

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it."""
        return function(*arguments)

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep in this thread."""
        clock.sleep(seconds)


class AsyncHands:
    """User functions are awaited; a durable ledger works in a thread, shielded."""

    def __init__(self, *, threads: bool) -> None:
        """`threads`: the ledger may block, so keep it off the event loop."""
        self.cancelled: BaseException | None = None
        self._threads = threads

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it, and await what it returns if that can be awaited."""
        result = function(*arguments)
        return await result if inspect.isawaitable(result) else result

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Carry it to its end; a cancellation meanwhile is kept in `cancelled`."""
        if not self._threads:
            return function(*arguments)
        work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
        while True:
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError as error:
                if work.cancelled():
                    raise
                self.cancelled = error

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep in this task; a clock of the user's is simply advanced."""
        if isinstance(clock, LedgerClock):
            await clock.sleep_async(seconds)
        else:
            clock.sleep(seconds)


def run_sync(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends, as those on `SyncHands` are."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    work.close()
    raise UsageError("something awaited inside Guard: use AsyncGuard")
