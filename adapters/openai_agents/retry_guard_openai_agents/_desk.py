"""The way of one call to the guard and back, whatever kind of tool it is for."""

import asyncio
from collections.abc import Mapping
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
)
from retry_guard_openai_agents._notes import Notes
from retry_guard_openai_agents._places import CALLER, Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A guard, and whose calls it is for. `approvals`: an open question pauses the next call."""

    guard: AsyncGuard
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
        arguments: Mapping[str, Any],
        send: Any,
        context: RunContextWrapper[Any] | None,
    ) -> Outcome:
        """Carry out one call. Raises what `retry_guard.AsyncGuard.call` raises."""
        place = self.places.of(None if context is None else context.context)
        call_id = context.tool_call_id if isinstance(context, ToolContext) else None
        CALLER.set(context)
        with self.guard.turn(place.scope, place.turn):
            outcome = await self.guard.call(
                tool, arguments, send=send, scope=place.scope, turn=place.turn, call_id=call_id
            )
        self.notes.note(context, outcome)
        return outcome

    async def pauses(
        self, tool: str, arguments: Mapping[str, Any], context: RunContextWrapper[Any]
    ) -> bool:
        """Whether a person has to be heard before this call."""
        if not self.approvals or self.guard.mode != "guard":
            return False
        return await self.question(tool, arguments, context.context) is not None

    async def question(
        self, tool: str, arguments: Mapping[str, Any], context: object
    ) -> Question | None:
        """Return the question that stands between this call and its result, if one was put."""
        scope = self.places.scope(context)

        def look() -> Question | None:
            return question_put(self.guard, tool, arguments, scope=scope)

        try:
            return await asyncio.to_thread(look) if self.guard.ledger.durable else look()
        except (ArgumentError, UsageError):
            return None  # the call itself will say so
