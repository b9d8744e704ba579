"""The server's tools as the proxy gets to know them, and who is told of them."""

import asyncio
import contextlib
import time
from typing import Any

from retry_guard import AsyncGuard, Contract
from retry_guard_mcp_proxy._known import same_words
from retry_guard_mcp_proxy._listing import ListingError, list_tools
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._naming import Naming, Seen, shown
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._tools import Tools
from retry_guard_mcp_proxy._upstream import Upstream

_FEW = 10
"""Tools that are weighed at once, before others have a turn."""
_AGAIN = 10.0
"""Seconds before a list that could not be had is asked for again in the same life."""
_TRIES = 3
"""How often a list is asked for that a server begins and another one may have ended."""


class Catalogue:
    """What counts for each tool, for these guards. `tools`: what is known of them."""

    def __init__(
        self, parts: Parts, guards: tuple[AsyncGuard, ...], upstream: Upstream, session: Session
    ) -> None:
        """Raises `UsageError` for what is trusted and does not fit together."""
        self._guards, self._upstream, self._session = guards, upstream, session
        contracts = guards[0].contracts
        self._pins, self._reading = parts.pins, asyncio.Lock()
        self._trust = trust = parts.trust_beside(contracts)
        show, adopt = parts.show_key, self._adopt
        self.tools = Tools(contracts, show_key=show, trust=trust, adopt=adopt)
        for contract in () if trust is None else trust.before():
            self._adopt(contract)
        self._naming, self._listing = Naming(parts.kept), asyncio.Lock()
        self._vain: tuple[int, float] | None = None
        self._writing: set[asyncio.Task[Any]] = set()

    def _adopt(self, contract: Contract) -> None:
        for guard in self._guards:
            former = guard.contracts.get(contract.tool)
            if former != contract:
                guard.contracts.pop(contract.tool, None)
                try:
                    guard.add(contract)
                except BaseException:
                    if former is not None:
                        guard.contracts[contract.tool] = former
                    raise

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:
        """Learn from a list of tools; return it as the client shall see it; None: as it is."""
        changed = self.tools.shown(response, is_old=is_old)
        self._heard()
        return changed

    def _heard(self) -> None:
        """Weigh what was listed, a few at a time, and tell of it: no message waits for that."""
        if self.tools.weigh(_FEW):
            self._keep(asyncio.create_task(self._rest()))
        else:
            self._tell()

    async def _rest(self) -> None:
        is_more = True
        while is_more:
            await asyncio.sleep(0)
            is_more = self.tools.weigh(_FEW)
        self._tell()

    def _tell(self) -> None:
        tools = self.tools
        seen = Seen(dict(tools.words), dict(tools.known), dict(tools.unlisted))
        self._naming.name(seen)
        self._keep(asyncio.create_task(asyncio.to_thread(self._naming.keep, seen)))

    def _keep(self, work: asyncio.Task[None]) -> None:
        self._writing.add(work)
        work.add_done_callback(self._writing.discard)

    async def ready(self, name: str) -> None:
        """Ask the server for its list, where trust in this tool, or its key, depends on it.

        Where there is none, the tool is guarded as if nothing were trusted.
        """
        await self.heed_pins()
        self.tools.forget(name, self._upstream.lasts)
        if not self._must_ask(name):
            return
        async with self._listing:
            if not self._must_ask(name):
                return  # another call has asked meanwhile
            try:
                listed = await self._listed()
            except ListingError as error:
                self.tools.failed = error.why
                if error.reached:
                    self._vain = self.tools.life, time.monotonic() + _AGAIN
                trusted = self._trust is not None and self._trust.waits_for(name)
                what = "not trusted" if trusted else "not called"
                note(f"{shown(name)}: {what} while its server lists no tools: {error}")
                return
            self.tools.learn(listed)
            self._heard()

    def _must_ask(self, name: str) -> bool:
        if not self.tools.must_be_listed(name):
            return False
        life, until = self._vain or (None, 0.0)
        return life != self.tools.life or time.monotonic() >= until

    def life(self) -> int | None:
        """Return the number of this life of the server; None: what is trusted is to be read anew.

        It changes also with what counts for a tool. Costs one look at the file of trust.
        """
        pins = None if self._trust is None else self._pins
        return None if pins is not None and pins.are_old() else self.lately()

    def lately(self) -> int:
        """Return that number as far as was looked last; whoever goes by it has to look again."""
        return self.tools.life + self.tools.changes

    async def heed_pins(self) -> None:
        """Let what is trusted by now count, where the operator has changed it meanwhile."""
        pins = self._pins
        if pins is None or self._trust is None or not pins.are_old():
            return
        async with self._reading:
            if not pins.are_old():
                return  # another call has read it meanwhile
            await asyncio.to_thread(pins.read)
            self._trust = self._trust.renewed(pins.now)
            self.tools.trusts(self._trust)
        self._tell()

    def rests_on_trust(self, name: str) -> bool:
        """Whether what counts for a tool is, or was, what an operator trusts of its server."""
        return self._trust is not None and self._trust.has_trusted(name)

    async def look_up(self, name: str) -> None:
        """Ask the server for its list, where it is not known what results this tool declares."""
        async with self._listing:
            if name not in self.tools.known:
                with contextlib.suppress(ListingError):  # it stays unknown
                    self.tools.learn(await self._listed())
                    self._heard()

    async def _listed(self) -> list[Any]:
        """The list of one life of the server. Raises `ListingError`.

        A server that says each time that it has changed, and lists the same, has not.
        """
        former: tuple[int, list[Any]] | None = None
        for _ in range(_TRIES):
            life, servers = self.tools.life, self.tools.servers
            listed = await list_tools(self._upstream, self._session)
            if life == self.tools.life:
                return listed
            is_one = former is not None and former[0] == servers == self.tools.servers
            if former is not None and is_one and same_words(former[1], listed):
                return listed
            former = servers, listed
        raise ListingError("it changed each time meanwhile")

    async def close(self) -> None:
        """Return when all is kept."""
        while self._writing:
            await asyncio.wait(self._writing)
