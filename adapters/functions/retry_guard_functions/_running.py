"""One run of a tool's function: in this thread, awaited, or in another thread."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any, cast

from retry_guard import ArgumentError, NotExecuted, UsageError, running
from retry_guard_functions._tools import Fitted


def run_now(one: Fitted, values: dict[str, Any]) -> Any:
    """Run it in this thread. What has to be awaited, a guard refuses."""
    return one.tool.function(**values)


def run_plain(one: Fitted, values: dict[str, Any]) -> Any:
    """Run it in this thread, without a guard. Raises `UsageError` for what must be awaited."""
    result = run_now(one, values)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise UsageError(f"{one.tool.name} must be awaited: use the async form")
    return result


async def run_awaited(one: Fitted, values: dict[str, Any]) -> Any:
    """Await it; a function that blocks runs in a thread."""
    function = one.tool.function
    result = await (function(**values) if one.awaited else _in_thread(function, values))
    return await result if inspect.isawaitable(result) else result


class UnbegunError(asyncio.CancelledError):
    """The call was cancelled before its thread began, which it now never does."""


async def _in_thread(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Run it in a thread to its end, since nothing can stop it there.

    A cancellation meanwhile is put off until then: the attempt lasts as long as the thread.
    Raises `UnbegunError` for one that came before the thread began.
    """
    gate = threading.Lock()
    work = asyncio.ensure_future(asyncio.to_thread(_ended, gate, function, values))
    task, put_off = asyncio.current_task(), 0
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if gate.acquire(blocking=False):
                work.cancel()
                raise UnbegunError from None
            if task is None or work.cancelled():
                raise
            task.uncancel()
            put_off += 1
    _cancel_again(put_off)
    result, error = work.result()
    if error is not None:
        raise error
    return result


def _cancel_again(times: int) -> None:
    """Let cancellations that were met strike at the next occasion."""
    task = asyncio.current_task()
    for _ in range(times if task is not None else 0):
        cast("asyncio.Task[Any]", task).cancel()


async def obey() -> None:
    """Let a cancellation that was put off strike here, if nothing has met it before."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        await asyncio.sleep(0)


def _ended(
    gate: threading.Lock, function: Callable[..., Any], values: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the result, or what was raised: a future takes no `StopIteration`.

    Nothing runs where the gate is shut.
    """
    if not gate.acquire(blocking=False):
        return None, UnbegunError()
    try:
        return function(**values), None
    except BaseException as error:  # noqa: BLE001 - raised again in the task
        return None, error


class Sends:
    """The runs of one call of a tool; `now` and `awaited` as a guard takes its sends.

    Arguments that do not fit, such as those of an old record, prove that nothing ran.
    """

    def __init__(self, one: Fitted, scope: str, turn: str | None) -> None:
        """Send nothing yet."""
        self._one, self._scope, self._turn = one, scope, turn
        self._first: dict[str, Any] | None = None
        self._made = dict[str, Any]()

    def now(self, arguments: dict[str, Any], extra: dict[str, str]) -> Any:
        """Run the function in this thread."""
        try:
            values = self._bound(arguments)
        except ArgumentError as error:
            return NotExecuted(error)
        with running(self._scope, self._turn, extra):
            return run_now(self._one, values)

    async def awaited(self, arguments: dict[str, Any], extra: dict[str, str]) -> Any:
        """Await the function, or a thread that runs it."""
        try:
            values = self._bound(arguments)
        except ArgumentError as error:
            return NotExecuted(error)
        try:
            with running(self._scope, self._turn, extra):
                return await run_awaited(self._one, values)
        except UnbegunError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            _cancel_again(1)
            return NotExecuted("cancelled before it began")

    def _bound(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the function's values: what its factories make is made once for all sends."""
        shape = self._one.shape
        if self._first is None:
            self._first, self._made = dict(arguments), shape.made(arguments)
        first = self._first
        made = {
            name: value
            for name, value in self._made.items()
            if arguments.get(name) == first.get(name)
        }
        return shape.bound({**arguments, **made})

    def plain(self, arguments: dict[str, Any]) -> Any:
        """Run the function in this thread, without a guard."""
        with running(self._scope, self._turn):
            return run_plain(self._one, self._one.shape.bound(arguments))
