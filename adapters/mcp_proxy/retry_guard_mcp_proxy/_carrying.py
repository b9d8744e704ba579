"""Carries one call out through the guard, by what counts for its tool at each step."""

from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast

from retry_guard import (
    ArgumentError,
    AsyncGuard,
    NotExecuted,
    Outcome,
    Policy,
    Unresolved,
    UsageError,
)
from retry_guard_contracts import Identity, identify
from retry_guard_mcp_proxy._catalogue import Catalogue
from retry_guard_mcp_proxy._doubts import undoubted
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._judging import judge
from retry_guard_mcp_proxy._late import LateLedger
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._reads import ContractChangedError, Ground, reader
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._turns import call_id_of, turn_of
from retry_guard_mcp_proxy._upstream import Upstream

_BRIEF = 1.0
"""Seconds in which it has to be noted that a person was asked in vain."""
_CHANGED = "what its server states of it has changed meanwhile; nothing was sent"
_NO_SECRET = b""
"""What is compared within this process, and goes nowhere, needs none."""

_HERE: ContextVar[Exchange] = ContextVar("retry_guard_mcp_exchange")


class _ChangedError(DownError):
    """What the call is carried out by counts no more, and nothing of it was sent."""


class Carrying:
    """The guard. `catalogue`, `tools`: what it guards."""

    def __init__(
        self, parts: Parts, ledger: LateLedger, upstream: Upstream, session: Session
    ) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        late: Any = cast("Any", ledger)  # a ledger in all but name
        contracts, policy = tuple(parts.contracts), parts.policy or Policy()
        read = reader(upstream, session, Ground(self._life, self._stands))
        self.guard = AsyncGuard(late, contracts, classify=judge, read=read, policy=policy)
        # It notes in the record that a person was asked in vain, and sends nothing again.
        brief = replace(policy, attempts=0, deadline=_BRIEF)
        self._noting = AsyncGuard(
            late, contracts, classify=judge, read=read, ask=_in_vain, policy=brief
        )
        self._scope = parts.scope
        self.catalogue = Catalogue(parts, (self.guard, self._noting), upstream, session)
        self.tools = self.catalogue.tools

    async def ready(self, tool: str) -> None:
        """Let the tool be known. Raises `UsageError` for one that has no room for its key."""
        await self.catalogue.ready(tool)
        self.tools.check(self.guard.contracts[tool])

    async def fit(self, exchange: Exchange) -> None:
        """Raise `DownError` unless the server that there is now takes what is to be sent."""
        try:
            await self.ready(exchange.tool)
        except UsageError as error:
            raise DownError(str(error)) from None
        if self._has_changed(exchange):
            raise _ChangedError(f"{exchange.tool}: {_CHANGED}")

    def _has_changed(self, exchange: Exchange) -> bool:
        """Whether what the call is carried out by counts no more."""
        former, now = exchange.contract, self.guard.contracts[exchange.tool]
        return former is not None and former is not now and former != now

    def _life(self) -> int | None:
        return self.catalogue.life()

    async def _stands(self) -> None:
        """Raise `ContractChangedError` where this call rests on trust that there is no more."""
        exchange = _HERE.get()
        await self.catalogue.heed_pins()
        if self.catalogue.rests_on_trust(exchange.tool):
            await self.catalogue.ready(exchange.tool)
            if self._has_changed(exchange):
                raise ContractChangedError

    def named(self, tool: str, arguments: Message) -> Identity | None:
        """Return what equal calls share, here and now; None: the call cannot be named."""
        contract = self.tools.doubted(tool) or self.guard.contracts[tool]
        try:
            return identify(contract, arguments, scope=self._scope, secret=_NO_SECRET)
        except ArgumentError:
            return None

    async def outcome(self, exchange: Exchange, *, in_vain: bool) -> Outcome:
        """Call; where another call of the action runs, wait as long as the client does.

        Where what it rests on has changed meanwhile, call by what counts now. `in_vain`: a person
        was asked: note it, and do nothing else.
        """
        _HERE.set(exchange)
        guard = self._noting if in_vain else self.guard
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
            if (runs or _is_to_begin_anew(outcome)) and exchange.is_awaited:
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
