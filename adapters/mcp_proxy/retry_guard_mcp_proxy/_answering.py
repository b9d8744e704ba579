"""Carries one call out through the guard, to the answer that its client gets."""

import logging
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast

from retry_guard import (
    ArgumentError,
    AsyncGuard,
    Done,
    GuardError,
    LedgerError,
    NotExecuted,
    Outcome,
    Policy,
    Unresolved,
    UsageError,
)
from retry_guard_contracts import identify, token_of
from retry_guard_mcp_proxy._answers import answer_of, is_result, other_shape, refused
from retry_guard_mcp_proxy._catalogue import Catalogue
from retry_guard_mcp_proxy._doubts import undoubted
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._judging import judge
from retry_guard_mcp_proxy._late import Deliveries, LateLedger
from retry_guard_mcp_proxy._messages import INTERNAL_ERROR, Message
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._people import People
from retry_guard_mcp_proxy._reads import ContractChangedError, Ground, reader
from retry_guard_mcp_proxy._session import Session, is_stateless
from retry_guard_mcp_proxy._state import Reply
from retry_guard_mcp_proxy._turns import call_id_of, turn_of
from retry_guard_mcp_proxy._upstream import Upstream

_log = logging.getLogger("retry_guard")

_BRIEF = 1.0
"""Seconds in which it has to be noted that a person was asked in vain."""
_CHANGED = "what its server states of it has changed meanwhile; nothing was sent"
_NO_SECRET = b""
"""What is compared within this process, and goes nowhere, needs none."""
_FAILED = "the proxy failed at this call: it is not known whether it took effect"

_HERE: ContextVar[Exchange] = ContextVar("retry_guard_mcp_exchange")


class _ChangedError(DownError):
    """What the call is carried out by counts no more, and nothing of it was sent."""


class Answering:
    """The guard, and who is asked where it cannot decide. `catalogue`, `tools`: what it guards."""

    def __init__(
        self,
        parts: Parts,
        ledger: LateLedger,
        people: People,
        upstream: Upstream,
        session: Session,
    ) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._ledger, late = ledger, cast("Any", ledger)  # a ledger in all but name
        contracts, policy = tuple(parts.contracts), parts.policy or Policy()
        read = reader(upstream, session, Ground(lambda: self.tools.life, self._stands))
        self._guard = AsyncGuard(late, contracts, classify=judge, read=read, policy=policy)
        # It notes in the record that a person was asked in vain, and sends nothing again.
        brief = replace(policy, attempts=0, deadline=_BRIEF)
        self._noting = AsyncGuard(
            late, contracts, classify=judge, read=read, ask=_in_vain, policy=brief
        )
        self._scope, self._people = parts.scope, people
        self.catalogue = Catalogue(parts, (self._guard, self._noting), upstream, session)
        self.tools = self.catalogue.tools

    async def answer(self, exchange: Exchange, reply: Reply | None) -> Message:
        """Return what to answer. `reply`: what a person says of the action, if anything."""
        try:
            await self._ready(exchange.tool)
            return await self._answered(exchange, reply)
        except GuardError as error:
            _log.warning("%s: %s", exchange.tool, error)
            return refused(exchange.tool, error)
        except Exception:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            _log.exception("the proxy failed at a call of %s", exchange.tool)
            return {"error": {"code": INTERNAL_ERROR, "message": _FAILED}}

    async def _ready(self, tool: str) -> None:
        """Let the tool be known. Raises `UsageError` for one that has no room for its key."""
        await self.catalogue.ready(tool)
        self.tools.check(self._guard.contracts[tool])

    async def fit(self, exchange: Exchange) -> None:
        """Raise `DownError` unless the server that there is now takes what is to be sent."""
        try:
            await self._ready(exchange.tool)
        except UsageError as error:
            raise DownError(str(error)) from None
        if self._has_changed(exchange):
            raise _ChangedError(f"{exchange.tool}: {_CHANGED}")

    def _has_changed(self, exchange: Exchange) -> bool:
        """Whether what the call is carried out by counts no more."""
        return exchange.contract not in (None, self._guard.contracts[exchange.tool])

    async def _stands(self) -> None:
        """Raise `ContractChangedError` where this call rests on trust that there is no more."""
        exchange = _HERE.get()
        if self.catalogue.rests_on_trust(exchange.tool):
            await self.catalogue.ready(exchange.tool)
            if self._has_changed(exchange):
                raise ContractChangedError

    def identity(self, exchange: Exchange) -> bytes | None:
        """Return what equal calls share, here and now; None: the call cannot be named."""
        tool = exchange.tool
        contract = self.tools.doubted(tool) or self._guard.contracts[tool]
        try:
            named = identify(contract, exchange.arguments, scope=self._scope, secret=_NO_SECRET)
        except ArgumentError:
            return None
        return named.identity

    async def delivered(self, here: Deliveries) -> None:
        """Note that the client has an answer."""
        try:
            await self._guard.with_ledger(self._ledger.delivered, here)
        except LedgerError as error:
            _log.warning("an answer counts as not delivered: %s", error)

    async def _answered(self, exchange: Exchange, reply: Reply | None) -> Message:
        said = "settled" if reply is None else await self._people.take(reply)
        while True:
            guard = self._noting if said == "refused" else self._guard
            outcome = await self._outcome(guard, exchange)
            self.tools.heed(exchange.tool, exchange.last.result)
            if isinstance(outcome, Done) and not is_result(outcome.value):
                await self.catalogue.look_up(exchange.tool)
            if isinstance(outcome, Done) and self._is_of_another(exchange.tool, outcome):
                return other_shape(outcome)
            structured = self.tools.has_output_schema(exchange.tool)
            answer = answer_of(outcome, exchange.last, structured=structured)
            if not isinstance(outcome, Unresolved) or said != "settled":
                return answer
            exchange.standing = answer
            question = await self._people.question(exchange.asker, outcome)
            if question is None or exchange.asker is None:
                return answer
            if is_stateless(exchange.asker.request):
                return self._people.states.wanted(question)
            said = await self._people.ask(exchange.asker, question)
            if said == "unreached" or (said == "settled" and not exchange.is_awaited):
                return answer  # what is said when nobody waits is for the next equal call
            if said == "settled":
                exchange.standing = None

    def _is_of_another(self, tool: str, outcome: Done) -> bool:
        """Whether a preview was answered with the result of the write: that shows no token."""
        rules = [one.confirm for one in self._guard.contracts.values() if one.confirm is not None]
        rule = next((rule for rule in rules if rule.preview == tool), None)
        return rule is not None and outcome.replayed and token_of(rule, outcome.value) is None

    async def _outcome(self, guard: AsyncGuard, exchange: Exchange) -> Outcome:
        """Call; where another call of the action runs, wait as long as the client does.

        Where what it rests on has changed meanwhile, call by what counts now.
        """
        _HERE.set(exchange)
        turn, call_id = turn_of(exchange.request), call_id_of(exchange.request)
        while True:
            exchange.contract = guard.contracts[exchange.tool]
            try:
                outcome = await guard.call(
                    exchange.tool,
                    exchange.arguments,
                    send=exchange.send,
                    scope=self._scope,
                    turn=turn,
                    call_id=call_id,
                )
            except ContractChangedError:
                continue
            runs = isinstance(outcome, Unresolved) and outcome.reason == "still_running"
            if _is_to_begin_anew(outcome) or (runs and exchange.is_awaited):
                continue
            return self._undoubted(outcome, exchange)

    def _undoubted(self, outcome: Outcome, exchange: Exchange) -> Outcome:
        """The outcome, if it is that of this call, and not of one that may be another."""
        here = exchange.here
        if here is None:
            return outcome
        apart = self.tools.doubted(exchange.tool)
        told = undoubted(outcome, here.met, exchange.arguments, apart)
        if told is not outcome:
            here.noted.clear()
        return told


def _is_to_begin_anew(outcome: Outcome) -> bool:
    return isinstance(outcome, NotExecuted) and isinstance(outcome.error, _ChangedError)


async def _in_vain(_: Unresolved) -> None:
    """A person was asked, and did not say what happened."""
