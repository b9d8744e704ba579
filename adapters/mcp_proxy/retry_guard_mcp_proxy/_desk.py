"""Takes guarded calls in, carries them out through the guard, and answers."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from retry_guard import ArgumentError
from retry_guard_contracts import parse_arguments
from retry_guard_mcp_proxy._answering import Answering
from retry_guard_mcp_proxy._answers import misplaced
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._late import Deliveries, LateLedger
from retry_guard_mcp_proxy._messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Message,
    encoded,
    failure,
    name_of,
    params_of,
)
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._people import People
from retry_guard_mcp_proxy._running import Running
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._state import Reply
from retry_guard_mcp_proxy._timing import Timing
from retry_guard_mcp_proxy._turns import turn_of
from retry_guard_mcp_proxy._upstream import Upstream
from retry_guard_mcp_proxy._waited import Ends
from retry_guard_mcp_proxy._wanted import gives_input

SAVING = 10.0
"""Seconds in which calls that are stopped have to be recorded as such."""


class GuardDesk:
    """The guarded calls of one client."""

    def __init__(self, parts: Parts, client: Client, upstream: Upstream, session: Session) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._ledger = LateLedger(parts.ledger)
        self._people = People(parts.ledger, parts.scope, client, session, asks=parts.asks)
        self._answering = Answering(parts, self._ledger, self._people, upstream, session)
        self._tools = self._answering.tools
        self._client, self._upstream = client, upstream
        self._running = Running()
        self._timing = Timing(client, session, self._keep, stated=parts.answer_within)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ends = Ends(
            client=client,
            upstream=upstream,
            over=self._running.over,
            fit=self._answering.carrying.fit,
            life=self._answering.catalogue.life,
            lately=self._answering.catalogue.lately,
            named=self._answering.carrying.named,
            paused=self._running.paused,
        )

    def owns(self, message: Message) -> bool:
        """Whether it is a call of a tool that is guarded."""
        return self._tools.guarded(params_of(message).get("name")) is not None

    def waits_for(self, given: object) -> bool:
        """Whether the client waits for a guarded call with that id."""
        return self._running.waits_for(given)

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:
        """Return a list of tools as the client shall see it; None: as it is."""
        return self._answering.catalogue.shown(response, is_old=is_old)

    def take(self, request: Message) -> None:
        """Begin to carry a call out, or go on with one that waits for this."""
        request, reply = self._people.states.taken(request)
        name = name_of(request["id"])
        if name is None:
            self._wrong(request, INVALID_REQUEST, "an id is a string or a number")
            return
        params = params_of(request)
        try:
            arguments = parse_arguments(params.get("arguments", {}), null_is_empty=False)
        except ArgumentError as error:
            self._wrong(request, INVALID_PARAMS, str(error))
            return
        asker = Asker(request, name)
        self._running.asks(asker)
        exchange = Exchange(asker, arguments, self._ends)
        paused = self._running.continued(exchange) if gives_input(params) else None
        if paused is not None:
            self._timing.watch(asker, paused)
            paused.go_on(asker)
        elif gives_input(params) and self._running.is_for_another(exchange):
            self._keep(exchange.tell(misplaced(exchange.tool)))
        else:
            self._begin(exchange, reply)

    def _begin(self, exchange: Exchange, reply: Reply | None) -> None:
        if exchange.asker is not None:
            self._timing.watch(exchange.asker, exchange)
        former = self._running.paused_like(exchange)
        self._running.calls.add(exchange)
        exchange.task = self._keep(self._carry(exchange, reply, former))
        # Not at the end of that: what is cancelled before it begins has none.
        exchange.task.add_done_callback(lambda _: self._running.calls.discard(exchange))

    def _wrong(self, request: Message, code: int, why: str) -> None:
        self._keep(self._client.tell(encoded(failure(request["id"], code, why))))

    def _keep(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _carry(
        self, exchange: Exchange, reply: Reply | None, former: Exchange | None
    ) -> None:
        """Carry a call out to its end, also where nobody waits for it any more."""
        if former is not None and former.task is not None:
            former.give_up()
            await asyncio.wait({former.task})
        await self._running.recorded(exchange)
        with Deliveries(turn_of(exchange.request)) as here:
            exchange.here = here
            answer = await self._answering.answer(exchange, reply)
        exchange.answered = True
        if await exchange.tell(answer):
            await self._answering.delivered(here)

    def cancel(self, given: object) -> bool:
        """Note that nobody waits for that call any more; return whether there is one."""
        return self._running.cancel(given)

    def progress(self, message: Message) -> list[Message] | None:
        """Return progress of a guarded call for each who asks for it; None: it is of another."""
        token = params_of(message).get("progressToken")
        return self._running.progress(message) if self._upstream.is_own(token) else None

    def told(self, response: Message) -> bool:
        """Take what a person says; return whether it answers a request of the proxy's own."""
        return self._people.told(response)

    def passes(self, message: Message) -> None:
        """Calls that pass are nobody's affair."""

    def answered(self, response: Message) -> None:
        """Nor are their answers."""

    def lost(self, error: Exception, given: object = None) -> None:  # noqa: ARG002 - as it is called
        """Learn that the server is another one from now on."""
        if given is None:
            self._tools.restarted()

    def renewed(self, *, is_same: bool = False) -> None:
        """Learn that the server may be another one from now on; `is_same`: only its list may be."""
        self._tools.restarted(is_same=is_same)

    async def settled(self) -> None:
        """Return when no call is under way."""
        self._people.leave()
        while tasks := {one.task for one in self._running.calls if one.task is not None}:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop what is under way; its outcome is recorded as unknown. Close the ledger."""
        for exchange in self._running.calls:
            if exchange.paused:
                exchange.give_up()
            elif exchange.task is not None:
                exchange.task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SAVING):
                await self.settled()
                await self._answering.catalogue.close()
        self._ledger.close()
