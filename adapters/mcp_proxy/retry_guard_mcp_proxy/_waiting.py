"""Requests of the proxy's own, and who waits for their answers."""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager

from retry_guard_mcp_proxy._messages import Message


class Waiting:
    """Ids of the proxy's own, which nobody else can have, each with the future of its answer."""

    def __init__(self) -> None:
        """Wait for nothing yet."""
        self._mark, self._count = f"retry-guard-{os.urandom(8).hex()}-", 0
        self._futures: dict[object, tuple[int, asyncio.Future[Message]]] = {}

    def new_id(self) -> str:
        """Return an id that was never used."""
        self._count += 1
        return f"{self._mark}{self._count}"

    def is_own(self, given: object) -> bool:
        """Whether it is such an id."""
        return isinstance(given, str) and given.startswith(self._mark)

    @contextmanager
    def answer_to(self, given: str, life: int = 0) -> Generator[asyncio.Future[Message]]:
        """Give the future of an answer of that life, and wait for it no longer than this lasts."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._futures[given] = life, future
        try:
            yield future
        finally:
            self._futures.pop(given, None)
            # What nobody asked for any more is no error of anybody.
            future.cancel()

    def settle(self, message: Message) -> bool:
        """Give an answer to whoever waits for it; return whether the id is one of ours."""
        given = message.get("id")
        if not self.is_own(given):
            return False
        _, future = self._futures.get(given, (0, None))
        if future is not None and not future.done():
            future.set_result(message)
        return True

    def fail(self, error: Exception, life: int = 0) -> None:
        """Let everybody know that no answer of that life will come."""
        for asked, future in self._futures.values():
            if asked == life and not future.done():
                future.set_exception(error)
