"""The desk of a proxy that could not be set up: it says so to whoever asks, and sends nothing.

The client has often opened its session by then, for the server is there before the guard is. A
connection that just closes would tell it nothing.
"""

import asyncio

from retry_guard_core import GuardError
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._messages import INTERNAL_ERROR, Message, encoded, failure
from retry_guard_mcp_proxy._off import OffDesk

LINGER = 5.0
"""Seconds in which a client whose session is open has to ask for tools, to hear what is wrong."""
_WHY = "retry-guard mcp cannot guard this server, so no tool of it can be called: {error}"


class UnreadyDesk(OffDesk):
    """Refuses tools. `error`: what is wrong; `is_told`: set once the client was told."""

    def __init__(self, client: Client, error: GuardError) -> None:
        """Say nothing yet."""
        self.error, self.is_told = error, asyncio.Event()
        self._client, self._telling = client, set[asyncio.Task[bool]]()
        self._why = _WHY.format(error="; ".join(str(error).splitlines()))

    def owns(self, message: Message) -> bool:  # noqa: ARG002 - as it is called
        """Own every call: nobody knows which are guarded."""
        return True

    def take(self, request: Message) -> None:
        """Refuse it."""
        refused = failure(request["id"], INTERNAL_ERROR, self._why)
        self._telling.add(asyncio.create_task(self._client.tell(encoded(refused))))
        self.is_told.set()

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:  # noqa: ARG002 - (the same)
        """Let the client see what is wrong in place of the list."""
        self.is_told.set()
        return failure(response.get("id"), INTERNAL_ERROR, self._why)

    async def settled(self) -> None:
        """Return when all has been refused."""
        if self._telling:
            await asyncio.wait(self._telling)
