"""What may block for long, so that the end of the process does not wait for it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """Return what work returns, or raise what it raises; it has a thread of its own.

    Where nobody waits for it any more, it goes on for nothing.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # so that nobody can take it back while it runs

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
