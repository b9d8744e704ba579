"""What the pipe asks of whoever carries out guarded calls; that one is slow to import."""

from collections.abc import Awaitable
from typing import Protocol

from retry_guard_mcp_proxy._messages import Message


class Desk(Protocol):
    """Who carries out guarded calls."""

    def owns(self, message: Message) -> bool:
        """Whether it is a call of a tool that is guarded."""
        ...

    def take(self, request: Message) -> None:
        """Begin to carry a call out, or to go on with one; its answer goes to the client."""
        ...

    def cancel(self, given: object) -> bool:
        """Note that nobody waits for that call any more; return whether there is one."""
        ...

    def waits_for(self, given: object) -> bool:
        """Whether the client waits for a guarded call with that id, of which no server knows."""
        ...

    def progress(self, message: Message) -> list[Message] | None:
        """Return progress of a guarded call for each who asks for it; None: it is of another."""
        ...

    def told(self, response: Message) -> bool:
        """Take what a person says; return whether it answers a request of the proxy's own."""
        ...

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:
        """Return a list of tools as the client shall see it; None: as it is.

        `is_old`: the server has been started anew, or its list has changed, since it was asked.
        """
        ...

    def passes(self, message: Message) -> None:
        """Learn that a call passes as it is."""
        ...

    def answered(self, response: Message) -> None:
        """Learn what was answered to what passed."""
        ...

    def lost(self, error: Exception, given: object = None) -> None:
        """Learn that no answer will come to what passed; with an id: to that request."""
        ...

    def renewed(self, *, is_same: bool = False) -> None:
        """Learn that the server may be another one from now on; `is_same`: only its list may be."""
        ...

    async def settled(self) -> None:
        """Return when no call is under way."""
        ...

    async def close(self) -> None:
        """Stop what is under way."""
        ...


class Reception:
    """Where the desk is found. `desk`: that one; None: nobody has needed it yet."""

    def __init__(self, ready: Awaitable[Desk]) -> None:
        """`ready`: gives the desk, once it is set up."""
        self.desk: Desk | None = None
        self._ready = ready

    async def found(self) -> Desk:
        """Return it, once it is set up."""
        self.desk = self.desk or await self._ready
        return self.desk
