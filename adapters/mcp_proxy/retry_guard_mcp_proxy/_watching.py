"""What a guard would do with a call that passes: it goes along, and sends nothing."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from retry_guard import AsyncGuard, GuardError, Observation
from retry_guard_contracts import ArgumentError, parse_arguments
from retry_guard_mcp_proxy._judging import Answer, judge
from retry_guard_mcp_proxy._kept import KeptError
from retry_guard_mcp_proxy._messages import Message, params_of
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._turns import call_id_of, turn_of


@dataclass(frozen=True, slots=True)
class Watched:
    """A call that passes. `at`: when it was made; `after`: the calls that had ended before."""

    request: Message
    answer: asyncio.Future[Answer]
    at: float
    after: frozenset[asyncio.Task[None]]


_HERE: ContextVar[list[Observation]] = ContextVar("retry_guard_mcp_observed")


class _Each(deque[Observation]):
    """Observations of calls side by side, each for the call that it is of."""

    def append(self, seen: Observation, /) -> None:
        _HERE.get().append(seen)


class Watch:
    """Follows calls with a guard that only observes. `guard`: that one."""

    def __init__(self, parts: Parts, read: Callable[[str, Any], Awaitable[object]]) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._scope, self._kept = parts.scope, parts.kept
        self.guard = AsyncGuard(
            parts.ledger,
            parts.contracts,
            classify=judge,
            read=read,
            policy=parts.policy,
            mode="observe",
        )
        self.guard.observations = _Each()

    async def follow(self, watched: Watched) -> None:
        """Let the guard go along with a call to its end, and keep what it would have done.

        What ended before this call was made is recorded first, as it would have been.
        """
        if watched.after:
            await asyncio.wait(watched.after)
        tool = params_of(watched.request)["name"]
        try:
            given = params_of(watched.request).get("arguments", {})
            arguments = parse_arguments(given, null_is_empty=False)
        except ArgumentError:
            await self._keep(watched, Observation(tool, "", "refuse", "arguments"))
            return
        seen: list[Observation] = []
        _HERE.set(seen)
        with contextlib.suppress(GuardError):  # what the caller got is not ours to judge
            await self._call(tool, arguments, watched)
        for one in seen:
            await self._keep(watched, one)

    async def _call(self, tool: str, arguments: Message, watched: Watched) -> None:
        async def wait(_arguments: object, _extra: object) -> Answer:
            return await asyncio.shield(watched.answer)

        await self.guard.call(
            tool,
            arguments,
            send=wait,
            scope=self._scope,
            turn=turn_of(watched.request),
            call_id=call_id_of(watched.request),
        )

    async def _keep(self, watched: Watched, seen: Observation) -> None:
        line: dict[str, Any] = {
            "at": watched.at,
            "scope": self._scope,
            "tool": seen.tool,
            "turn": turn_of(watched.request),
            "would": seen.would,
            "reason": seen.reason,
            "action": seen.action,
        }
        if self._kept is None:
            return
        try:
            await asyncio.to_thread(self._kept.observe, line)
        except KeptError as error:
            note(f"an observation was not kept: {error}")
