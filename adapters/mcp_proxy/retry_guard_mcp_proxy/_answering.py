"""Carries one call out through the guard, to the answer that its client gets."""

import contextlib
import logging

from retry_guard import Done, GuardError, LedgerError, Unresolved, UsageError
from retry_guard_contracts import token_of
from retry_guard_mcp_proxy._answers import answer_of, is_result, other_shape, refused
from retry_guard_mcp_proxy._carrying import Carrying
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._late import Deliveries, LateLedger
from retry_guard_mcp_proxy._messages import INTERNAL_ERROR, Message
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._people import People
from retry_guard_mcp_proxy._session import Session, is_stateless
from retry_guard_mcp_proxy._state import Reply
from retry_guard_mcp_proxy._upstream import Upstream

_log = logging.getLogger("retry_guard")

_FAILED = "the proxy failed at this call: it is not known whether it took effect"


class Answering:
    """Answers calls, and asks a person where the guard cannot decide. `carrying`: the guard."""

    def __init__(
        self,
        parts: Parts,
        ledger: LateLedger,
        people: People,
        upstream: Upstream,
        session: Session,
    ) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._ledger, self._people = ledger, people
        self.carrying = Carrying(parts, ledger, upstream, session)
        self.catalogue, self.tools = self.carrying.catalogue, self.carrying.tools

    async def answer(self, exchange: Exchange, reply: Reply | None) -> Message:
        """Return what to answer. `reply`: what a person says of the action, if anything."""
        try:
            await self._ready(exchange.tool)
            return await self._answered(exchange, reply)
        except GuardError as error:
            said, name = str(error), exchange.tool
            _log.warning(
                "%s", said if said.startswith((f"{name}:", f"{name} ")) else f"{name}: {said}"
            )
            return refused(exchange.tool, error)
        except Exception:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            _log.exception("the proxy failed at a call of %s", exchange.tool)
            return {"error": {"code": INTERNAL_ERROR, "message": _FAILED}}

    async def _ready(self, tool: str) -> None:
        """Let the tool be known. What it lacks stops each send, and no answer that needs none."""
        try:
            await self.carrying.ready(tool)
        except UsageError as error:
            _log.warning("%s", error)

    async def delivered(self, here: Deliveries) -> None:
        """Note that the client has an answer: at once, where nobody has to wait for that."""
        prompt = self._ledger.prompt
        if prompt is not None:
            with contextlib.suppress(LedgerError):  # it would have to wait: a thread does, below
                prompt.delivered(here)
                return
        try:
            await self.carrying.guard.with_ledger(self._ledger.delivered, here)
        except LedgerError as error:
            _log.warning("an answer counts as not delivered: %s", error)

    async def _answered(self, exchange: Exchange, reply: Reply | None) -> Message:
        said = "settled" if reply is None else await self._people.take(reply)
        while True:
            outcome = await self.carrying.outcome(exchange, in_vain=said == "refused")
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
        if not outcome.replayed:
            return False
        rules = [
            one.confirm for one in self.carrying.guard.contracts.values() if one.confirm is not None
        ]
        rule = next((rule for rule in rules if rule.preview == tool), None)
        return rule is not None and token_of(rule, outcome.value) is None
