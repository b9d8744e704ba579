"""Sees to it that no request waits longer than its client does, and that a client waits on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from retry_guard_mcp_proxy._answers import unfinished
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._messages import encoded
from retry_guard_mcp_proxy._patience import Timers, patience_of
from retry_guard_mcp_proxy._session import Session

Keep = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Begins work that nobody waits for."""


class Timing:
    """The time of each request. `stated`: seconds for every client; None: as was measured."""

    def __init__(
        self, client: Client, session: Session, keep: Keep, *, stated: float | None
    ) -> None:
        """Nothing waits yet."""
        self._client, self._session, self._keep = client, session, keep
        self._stated = stated

    def watch(self, asker: Asker, exchange: Exchange) -> None:
        """Look after a request of the client that was heard last, until it is over."""

        def leave() -> None:
            if exchange.asker is asker:
                self._keep(self._leave(exchange))

        def beat() -> None:
            sign = asker.sign_of_life()
            if sign is not None:
                self._keep(self._client.tell(encoded(sign)))

        patience = patience_of(self._session.client, asker.request, self._stated)
        asker.timed(Timers(patience, leave, beat))

    async def _leave(self, exchange: Exchange) -> None:
        """Answer with what is known now; the call goes on, unless it has not begun."""
        action = None if exchange.here is None else exchange.here.open
        if action is None and exchange.task is not None:
            exchange.task.cancel()
        await exchange.tell(exchange.standing or unfinished(exchange.tool, action))
