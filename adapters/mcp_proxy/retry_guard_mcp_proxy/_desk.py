"""Takes guarded calls in, carries them out through the guard, and answers."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from retry_guard import ArgumentError, AsyncGuard, Contract, GuardError, LedgerError, Policy
from retry_guard_contracts import parse_arguments
from retry_guard_ledgers import OpenedLedger
from retry_guard_mcp_proxy._answers import answer_of, refused
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._exchange import Asker, Ends, Exchange
from retry_guard_mcp_proxy._judging import judge
from retry_guard_mcp_proxy._late import Deliveries, LateLedger
from retry_guard_mcp_proxy._messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Message,
    encoded,
    failure,
    name_of,
    params_of,
)
from retry_guard_mcp_proxy._reads import reader
from retry_guard_mcp_proxy._running import Running
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._tools import Tools
from retry_guard_mcp_proxy._turns import call_id_of, turn_of
from retry_guard_mcp_proxy._upstream import Upstream

_log = logging.getLogger("retry_guard")

_FAILED = "the proxy failed at this call: it is not known whether it took effect"
SAVING = 10.0
"""Seconds in which calls that are stopped have to be recorded as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a desk is made of, beside both ends of the pipe."""

    ledger: OpenedLedger
    contracts: Iterable[Contract]
    scope: str
    show_key: bool = False
    policy: Policy | None = None


class GuardDesk:
    """The guarded calls of one client."""

    def __init__(self, parts: Parts, client: Client, upstream: Upstream, session: Session) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._ledger, self._scope = LateLedger(parts.ledger), parts.scope
        late: Any = self._ledger  # a ledger in all but name
        self._guard = AsyncGuard(
            late,
            parts.contracts,
            classify=judge,
            read=reader(upstream, session),
            policy=parts.policy,
        )
        self._tools = Tools(self._guard.contracts, show_key=parts.show_key)
        self._client, self._upstream = client, upstream
        self._running = Running()
        self._tasks: set[asyncio.Task[Any]] = set()

    def owns(self, message: Message) -> bool:
        """Whether it is a call of a tool that is guarded."""
        return self._tools.guarded(params_of(message).get("name")) is not None

    def waits_for(self, given: object) -> bool:
        """Whether the client waits for a guarded call with that id."""
        return self._running.waits_for(given)

    def shown(self, response: Message) -> Message | None:
        """Return a list of tools as the client shall see it; None: as it is."""
        return self._tools.shown(response)

    def take(self, request: Message) -> None:
        """Begin to carry a call out, or go on with one that waits for this."""
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
        ends = Ends(client=self._client, upstream=self._upstream, over=self._running.over)
        exchange = Exchange(asker, arguments, ends)
        equal = self._running.paused_like(exchange)
        if equal is not None and {"requestState", "inputResponses"} & params.keys():
            equal.go_on(asker)
            return
        self._running.calls.add(exchange)
        exchange.task = self._keep(self._carry(exchange, request, equal))

    def _wrong(self, request: Message, code: int, why: str) -> None:
        self._keep(self._client.tell(encoded(failure(request["id"], code, why))))

    def _keep(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _carry(self, exchange: Exchange, request: Message, former: Exchange | None) -> None:
        """Carry a call out to its end, also where nobody waits for it any more."""
        try:
            if former is not None and former.task is not None:
                former.give_up()
                await asyncio.wait({former.task})
            turn = turn_of(request)
            with self._ledger.deliveries(turn) as here:
                answer = await self._answer(exchange, request, turn)
            if await exchange.tell(answer):
                await asyncio.to_thread(self._noted, here)
        finally:
            self._running.calls.discard(exchange)

    async def _answer(self, exchange: Exchange, request: Message, turn: str | None) -> Message:
        try:
            self._tools.check(self._guard.contracts[exchange.tool])
            outcome = await self._guard.call(
                exchange.tool,
                exchange.arguments,
                send=exchange.send,
                scope=self._scope,
                turn=turn,
                call_id=call_id_of(request),
            )
        except GuardError as error:
            _log.warning("%s: %s", exchange.tool, error)
            return refused(error)
        except Exception:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            _log.exception("the proxy failed at a call of %s", exchange.tool)
            return {"error": {"code": INTERNAL_ERROR, "message": _FAILED}}
        structured = self._tools.has_output_schema(exchange.tool)
        return answer_of(outcome, exchange.last, structured=structured)

    def _noted(self, here: Deliveries) -> None:
        try:
            self._ledger.delivered(here)
        except LedgerError as error:
            _log.warning("an answer counts as not delivered: %s", error)

    def cancel(self, given: object) -> bool:
        """Note that nobody waits for that call any more; return whether there is one."""
        return self._running.cancel(given)

    def progress(self, message: Message) -> Message | None:
        """Return progress of a guarded call as its client knows it; None: nobody asks for it."""
        token = params_of(message).get("progressToken")
        return self._running.progress(message) if self._upstream.is_own(token) else message

    async def settled(self) -> None:
        """Return when no call is under way."""
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
        self._ledger.close()
