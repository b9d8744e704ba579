"""Mode `observe`: all passes as it came, and what a guard would have done is kept."""

import asyncio
import contextlib
import time
from typing import Any

from retry_guard import AsyncGuard, GuardError
from retry_guard_contracts import ArgumentError, parse_arguments
from retry_guard_mcp_proxy._catalogue import Catalogue
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._exchange import INPUT
from retry_guard_mcp_proxy._judging import Answer, NotGivenError, judge
from retry_guard_mcp_proxy._kept import KeptError
from retry_guard_mcp_proxy._messages import Message, Name, name_of, object_in, params_of
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._reads import reader
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._turns import call_id_of, turn_of
from retry_guard_mcp_proxy._upstream import Upstream

_ENDING = 5.0
"""Seconds in which what was observed has to be kept."""


class ObservingDesk:
    """Looks on. It owns no call, and so changes none."""

    def __init__(
        self,
        parts: Parts,
        client: Client,  # noqa: ARG002 - as every desk is made
        upstream: Upstream,
        session: Session,
    ) -> None:
        """Raises `UsageError` for parts that do not fit together."""
        self._ledger, self._scope, self._kept = parts.ledger, parts.scope, parts.kept
        self._guard = AsyncGuard(
            parts.ledger,
            parts.contracts,
            classify=judge,
            read=reader(upstream, session),
            policy=parts.policy,
            mode="observe",
        )
        self._catalogue = Catalogue(parts, (self._guard,), upstream, session)
        self._open: dict[Name, asyncio.Future[Answer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def owns(self, message: Message) -> bool:  # noqa: ARG002 - of any message
        """Own nothing: it passes."""
        return False

    def passes(self, message: Message) -> None:
        """Look on while a call passes."""
        name, params = name_of(message.get("id")), params_of(message)
        tool = params.get("name")
        if name is None or name in self._open or self._catalogue.tools.guarded(tool) is None:
            return
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[name] = answer
        task = asyncio.create_task(self._watch(message, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def answered(self, response: Message) -> None:
        """Learn how a call ended."""
        if object_in(response, "result").get("resultType") == INPUT:
            self.lost(NotGivenError("the server wants input first"), response.get("id"))
            return
        name = name_of(response.get("id"))
        answer = None if name is None else self._open.pop(name, None)
        if answer is not None and not answer.done():
            answer.set_result(Answer(response))

    def lost(self, error: Exception, given: object = None) -> None:
        """Learn that there will be no answer: to one call, or, with no id, to all."""
        names = list(self._open) if given is None else [name_of(given)]
        for name in names:
            answer = None if name is None else self._open.pop(name, None)
            if answer is not None and not answer.done():
                answer.set_exception(error)

    async def _watch(self, request: Message, answer: asyncio.Future[Answer]) -> None:
        """Let the guard go along, and keep what it would have done."""
        params, tool = params_of(request), params_of(request)["name"]
        try:
            arguments = parse_arguments(params.get("arguments", {}), null_is_empty=False)
        except ArgumentError:
            await self._keep(request, "", "refuse", "arguments")
            return

        async def wait(_arguments: object, _extra: object) -> Answer:
            return await asyncio.shield(answer)

        with contextlib.suppress(GuardError):  # what the caller got is not ours to judge
            await self._guard.call(
                tool,
                arguments,
                send=wait,
                scope=self._scope,
                turn=turn_of(request),
                call_id=call_id_of(request),
            )
        while self._guard.observations:
            seen = self._guard.observations.popleft()
            await self._keep(request, seen.action, seen.would, seen.reason, seen.tool)

    async def _keep(
        self, request: Message, action: str, would: str, reason: str, tool: str = ""
    ) -> None:
        line: dict[str, Any] = {
            "at": time.time(),
            "scope": self._scope,
            "tool": tool or params_of(request)["name"],
            "turn": turn_of(request),
            "would": would,
            "reason": reason,
            "action": action,
        }
        if self._kept is None:
            return
        try:
            await asyncio.to_thread(self._kept.observe, line)
        except KeptError as error:
            note(f"an observation was not kept: {error}")

    def take(self, request: Message) -> None:
        """Never asked: it owns nothing."""

    def cancel(self, given: object) -> bool:
        """Note that the client gave a call up; what becomes of it is not known then."""
        self.lost(ClosedError("the client has cancelled it"), given)
        return False

    def waits_for(self, given: object) -> bool:  # noqa: ARG002 - of any id
        """Whether the proxy itself answers that: it does not."""
        return False

    def progress(self, message: Message) -> list[Message] | None:  # noqa: ARG002 - (the same)
        """Progress passes."""
        return None

    def told(self, response: Message) -> bool:  # noqa: ARG002 - (the same)
        """Nobody was asked anything."""
        return False

    def shown(self, response: Message) -> Message | None:
        """Learn from a list of tools, which passes as it is."""
        self._catalogue.shown(response)
        return None

    async def settled(self) -> None:
        """Return when what has ended is kept."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Keep what was observed, and close the ledger."""
        self.lost(ClosedError("the proxy has ended"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self.settled()
                await self._catalogue.close()
        self._ledger.close()
