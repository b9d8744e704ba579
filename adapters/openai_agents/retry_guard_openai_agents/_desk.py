"""The way of one call to the guard and back, whatever kind of tool it is for."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agents import RunContextWrapper
from agents.tool_context import ToolContext

from retry_guard import (
    ArgumentError,
    AsyncGuard,
    Contract,
    Outcome,
    Question,
    UsageError,
    question_put,
    running,
)
from retry_guard_contracts import identify, parse_arguments
from retry_guard_openai_agents._arguments import Fit
from retry_guard_openai_agents._callers import calling
from retry_guard_openai_agents._notes import Notes
from retry_guard_openai_agents._places import Places

_HERE = b"compared in this process only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A guard, and whose calls it is for.

    `fits`: how the arguments for each guarded tool are written. `approvals`: an open question
    pauses the next call.
    """

    guard: AsyncGuard
    fits: Mapping[str, Fit]
    places: Places
    notes: Notes
    approvals: bool

    def contract(self, tool: str) -> Contract | None:
        """Return the contract of a tool whose calls are guarded; None for the others."""
        found = self.guard.contracts.get(tool)
        return None if found is None or found.effect == "read" else found

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        send: Any,
        context: RunContextWrapper[Any] | None,
        *,
        to_body: bool,
    ) -> Outcome:
        """Carry out one call. Raises what `retry_guard.AsyncGuard.call` raises.

        `to_body`: a key that does not travel as an argument is for the tool's body to send.
        """
        given = self.fits[tool](arguments)
        place = self.places.of(None if context is None else context.context)
        call_id = context.tool_call_id if isinstance(context, ToolContext) else None

        async def sent(given: dict[str, Any], extra: dict[str, str]) -> Any:
            with running(place.scope, place.turn, extra if to_body else None):
                return await send(given, extra)

        with calling(context), self.guard.turn(place.scope, place.turn):
            outcome = await self.guard.call(
                tool, given, send=sent, scope=place.scope, turn=place.turn, call_id=call_id
            )
        self.notes.note(context, outcome)
        self._seen(tool, given, place.scope, outcome)
        return outcome

    def _seen(self, tool: str, given: dict[str, Any], scope: str, outcome: Outcome) -> None:
        """Tell those who watch how the action ended that these arguments name."""
        contract = self.guard.contracts[tool]
        with suppress(ArgumentError):  # a guard that only looks on lets them pass
            name = identify(contract, given, scope=scope, secret=_HERE, ordinal=0)
            self.notes.see(name.identity + name.content, outcome)

    async def pauses(
        self, tool: str, arguments: dict[str, Any], context: RunContextWrapper[Any]
    ) -> bool:
        """Whether a person has to be heard before this call."""
        if not self.approvals or self.guard.mode != "guard":
            return False
        return await self.question(tool, arguments, context.context) is not None

    async def question(
        self, tool: str, arguments: str | dict[str, Any] | None, context: object
    ) -> Question | None:
        """Return the question that stands between this call and its result, if one was put."""
        scope = self.places.scope(context)

        def look() -> Question | None:
            given = self.fits[tool](parse_arguments(arguments))
            return question_put(self.guard, tool, given, scope=scope)

        try:
            return await asyncio.to_thread(look) if self.guard.ledger.durable else look()
        except (ArgumentError, UsageError):
            return None  # the call itself will say so

    async def reject(
        self, tool: str, arguments: str | None, context: object, call_id: str | None
    ) -> bool:
        """Give a call up for its turn; return whether nothing of it was sent, or will be."""
        place = self.places.of(context)
        try:
            given = self.fits[tool](parse_arguments(arguments))
        except ArgumentError:
            return False  # no call is made with these
        return await self.guard.reject(
            tool, given, scope=place.scope, turn=place.turn, call_id=call_id
        )
