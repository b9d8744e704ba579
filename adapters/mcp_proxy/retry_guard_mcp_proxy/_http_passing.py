"""What the client has said and is under way: each message in a task of its own."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._client import LISTEN
from retry_guard_mcp_proxy._messages import Message, is_request, name_of, params_of
from retry_guard_mcp_proxy._session import is_stateless

_POLL = 0.05
"""Seconds between two looks at how long there is patience."""


class Passing:
    """Tasks, by the message that each is for."""

    def __init__(self) -> None:
        """Nothing was said."""
        self._tasks: dict[asyncio.Task[None], Message] = {}

    def begin(self, work: Coroutine[Any, Any, None], message: Message) -> None:
        """Begin to pass a message on."""
        task = asyncio.create_task(work)
        self._tasks[task] = message
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def stop(self, cancelled: Message) -> bool:
        """Close the response to a request, which cancels it where there are no sessions.

        Return whether there is such a request.
        """
        name = name_of(params_of(cancelled).get("requestId"))
        found = [task for task, one in self._tasks.items() if _is_stateless_request(one, name)]
        for task in found:
            task.cancel()
        return bool(found)

    async def settled(self, patience: Patience) -> None:
        """Return when all is passed on and answered, or the patience is lost."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._waited_for() and loop.time() < began + patience.ends:
            await asyncio.wait(self._waited_for(), timeout=_POLL)

    def _waited_for(self) -> set[asyncio.Task[None]]:
        return {task for task, one in self._tasks.items() if one.get("method") != LISTEN}

    async def close(self) -> None:
        """Stop the rest."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_stateless_request(message: Message, name: object) -> bool:
    return is_request(message) and name_of(message["id"]) == name and is_stateless(message)
