"""Requests of the proxy's own, and who waits for their answers."""

import asyncio
import os

from retry_guard_mcp_proxy._messages import Message


class Waiting:
    """Ids of the proxy's own, which nobody else can have, each with the future of its answer."""

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._mark, self._count = f"retry-guard-{os.urandom(8).hex()}", 0
        self._futures: dict[object, asyncio.Future[Message]] = {}

    def new(self) -> tuple[str, asyncio.Future[Message]]:
        """Return an id that was never used, and the future of its answer."""
        self._count += 1
        given = f"{self._mark}-{self._count}"
        self._futures[given] = future = asyncio.get_running_loop().create_future()
        return given, future

    def drop(self, given: str) -> None:
        """Wait no more."""
        self._futures.pop(given, None)

    def settle(self, message: Message) -> bool:
        """Give an answer to whoever waits for it; return whether the id is one of ours."""
        given = message.get("id")
        if not isinstance(given, str) or not given.startswith(self._mark):
            return False
        future = self._futures.pop(given, None)
        if future is not None and not future.done():
            future.set_result(message)
        return True

    def fail(self, error: Exception) -> None:
        """Let everybody know that no answer will come."""
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(error)
