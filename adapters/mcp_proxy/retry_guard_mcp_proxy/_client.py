"""The client: what it is told, and what it asked the server that is not answered yet."""

import asyncio
from typing import NamedTuple

from retry_guard_mcp_proxy._messages import CLOSED, Message, Name, encoded, failure, name_of
from retry_guard_mcp_proxy._outlets import Outlet

LISTEN = "subscriptions/listen"
"""A request that stays open, and is made again where the server was started anew."""


class Asked(NamedTuple):
    """A request that was passed on as it came. `life`: of the server's list, at that time."""

    line: bytes
    method: str
    given: object
    life: int


class Client:
    """Who speaks to the proxy. `gone`: set once nobody reads what it is told."""

    def __init__(self, outlet: Outlet) -> None:
        """Nothing was asked."""
        self.gone = asyncio.Event()
        self._outlet = outlet
        self._open: dict[Name, list[Asked]] = {}

    async def tell(self, line: bytes) -> bool:
        """Write a line; return whether the system took all of it."""
        try:
            await self._outlet.write(line)
        except OSError:
            self.gone.set()
            return False
        return True

    def asked(self, line: bytes, message: Message, life: int = 0) -> None:
        """Note that a request is passed on, in this life of the server's list of tools."""
        name = name_of(message.get("id"))
        if name is not None:
            given = Asked(line, message["method"], message["id"], life)
            self._open.setdefault(name, []).append(given)

    def answered(self, given: object) -> Asked | None:
        """Take what was asked with that id off the list; None: nothing was, or it is over."""
        name = name_of(given)
        asked = self._open.get(name, []) if name is not None else []
        if not asked:
            return None
        first = asked.pop(0)
        if name is not None and not asked:
            del self._open[name]
        return first

    @property
    def waits(self) -> bool:
        """Whether it waits for an answer that should come soon."""
        return any(one.method != LISTEN for some in self._open.values() for one in some)

    def listening(self) -> list[bytes]:
        """Return what a server that was started anew has to be told."""
        return [one.line for some in self._open.values() for one in some if one.method == LISTEN]

    async def ended(self, how: str) -> None:
        """Answer what no server will answer any more."""
        lost = [one for some in self._open.values() for one in some if one.method != LISTEN]
        for one in lost:
            self.answered(one.given)
        for one in lost:
            why = f"Connection closed: the server ended ({how}) before it answered"
            await self.tell(encoded(failure(one.given, CLOSED, why)))
