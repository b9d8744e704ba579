"""The two ways to carry out what blocks: in this thread, or awaiting it."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from retry_guard._answers import UsageError
from retry_guard._clock import Clock, LedgerClock
from retry_guard._functions import called, is_plain, refuse_generator
from retry_guard._jobs import Job
from retry_guard._workers import Workers

_PLAIN = frozenset[type]({type(None), bool, int, float, str, bytes, list, dict})
"""What most functions return, which nobody can await."""


class AwaitedError(UsageError):
    """Something that has to be awaited came back where nobody awaits."""


class Hands(Protocol):
    """How a driver calls what is not its own. `cancelled`: asked to stop, not yet obeyed."""

    cancelled: BaseException | None

    @property
    def stopping(self) -> bool:
        """Whether the call is to stop, also where that is noted only when the ledger is done."""
        ...

    @property
    def pending(self) -> bool:
        """Whether it was asked to stop, and hears of that only when it waits for something."""
        ...

    def refuse(self, tool: str, function: Callable[..., Any]) -> None:
        """Raise `UsageError` for a function that would not run when it is called."""
        ...

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the user's function."""
        ...

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the ledger; once begun, it is carried to its end. What cancelled it comes first."""
        ...

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Let time pass."""
        ...


class SyncHands:
    """Everything happens in this thread, and nothing ever suspends."""

    cancelled: BaseException | None = None

    @property
    def stopping(self) -> bool:
        """Whether it was interrupted."""
        return self.cancelled is not None

    @property
    def pending(self) -> bool:
        """Nothing is: an interrupt strikes at once."""
        return False

    def refuse(self, tool: str, function: Callable[..., Any]) -> None:
        """Refuse generators, and functions that have to be awaited."""
        if is_plain(function, awaited=False):
            return
        refuse_generator(tool, function)
        if inspect.iscoroutinefunction(called(function)):
            raise UsageError(f"{tool}: an async function was given to Guard: use AsyncGuard")

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it. Raises `AwaitedError` if what comes back has to be awaited."""
        result = function(*arguments)
        if type(result) not in _PLAIN and inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise AwaitedError("an async function was given to Guard: use AsyncGuard")
        return result

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it; an interrupt meanwhile is kept in `cancelled`, and the work begun anew.

        Each of the ledger's verbs can be repeated: it finds what it stored itself.
        """
        while True:
            try:
                return function(*arguments)
            except Exception as error:
                if self.cancelled is not None:
                    raise self.cancelled from error
                raise
            except BaseException as error:
                if self.cancelled is not None:
                    raise
                self.cancelled = error

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep in this thread."""
        clock.sleep(seconds)


class AsyncHands:
    """User functions are awaited; a durable ledger works in a thread, to its end."""

    def __init__(self, workers: Workers | None) -> None:
        """`workers`: keep a ledger that may block off the event loop; None: it never does."""
        self.cancelled: BaseException | None = None
        self._workers = workers
        self._job: Job | None = None

    @property
    def stopping(self) -> bool:
        """Whether it was cancelled, which may be only just now. For the ledger's thread too."""
        return self.cancelled is not None or (self._job is not None and self._job.cancelling)

    @property
    def pending(self) -> bool:
        """Whether its task was cancelled, which strikes where it waits next."""
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def refuse(self, tool: str, function: Callable[..., Any]) -> None:
        """Refuse generators."""
        if not is_plain(function, awaited=True):
            refuse_generator(tool, function)

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it, and await what it returns if that can be awaited."""
        result = function(*arguments)
        return await result if inspect.isawaitable(result) else result

    async def ledger(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Carry it to its end; a cancellation meanwhile is kept in `cancelled`."""
        if self._workers is None:
            return function(*arguments)
        job = self._job = Job(function, *arguments)
        self._workers.begin(job)
        while not job.over:
            try:
                await job
            except asyncio.CancelledError as error:
                self.cancelled = error
        try:
            return job.outcome()
        except Exception as error:
            if self.cancelled is not None:
                raise self.cancelled from error
            raise

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep in this task; a clock of the user's is advanced, then others have a turn."""
        if isinstance(clock, LedgerClock):
            await clock.sleep_async(seconds)
        else:
            clock.sleep(seconds)
            await asyncio.sleep(0)


def run_sync(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends, as those on `SyncHands` are."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    work.close()
    raise UsageError("something awaited inside Guard: use AsyncGuard")
