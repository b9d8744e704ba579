"""Mode `observe`: all passes as it came, and what a guard would have done is kept."""

import asyncio
import contextlib
import time

from retry_guard_mcp_proxy._catalogue import Catalogue
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._exchange import INPUT
from retry_guard_mcp_proxy._judging import Answer, NotGivenError
from retry_guard_mcp_proxy._messages import Message, Name, name_of, object_in, params_of
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._reads import reader
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Upstream
from retry_guard_mcp_proxy._watching import Watch, Watched

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
        self._ledger, self._watch = parts.ledger, Watch(parts, reader(upstream, session))
        self._catalogue = Catalogue(parts, (self._watch.guard,), upstream, session)
        self._open: dict[Name, list[tuple[Watched, asyncio.Task[None]]]] = {}
        self._tasks, self._ending = set[asyncio.Task[None]](), set[asyncio.Task[None]]()

    def owns(self, message: Message) -> bool:  # noqa: ARG002 - of any message
        """Own nothing: it passes."""
        return False

    def passes(self, message: Message) -> None:
        """Look on while a call passes."""
        name, params = name_of(message.get("id")), params_of(message)
        tool = params.get("name")
        if name is None or self._catalogue.tools.guarded(tool) is None:
            return
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        watched = Watched(message, answer, time.time(), frozenset(self._ending))
        task = asyncio.create_task(self._watch.follow(watched))
        self._open.setdefault(name, []).append((watched, task))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._ending.discard)

    def answered(self, response: Message) -> None:
        """Learn how a call ended."""
        if object_in(response, "result").get("resultType") == INPUT:
            self.lost(NotGivenError("the server wants input first"), response.get("id"))
        else:
            self._ended(name_of(response.get("id")), Answer(response))

    def lost(self, error: Exception, given: object = None) -> None:
        """Learn that there will be no answer: to one call, or, with no id, to all."""
        names = [name for name, some in self._open.items() for _ in some]
        for name in names if given is None else [name_of(given)]:
            self._ended(name, error)

    def _ended(self, name: Name | None, end: Answer | Exception) -> None:
        under_way = self._open.get(name, []) if name is not None else []
        if not under_way:
            return
        watched, task = under_way.pop(0)
        if name is not None and not under_way:
            del self._open[name]
        if not task.done():
            self._ending.add(task)
        if isinstance(end, Answer):
            watched.answer.set_result(end)
        else:
            watched.answer.set_exception(end)
            watched.answer.exception()  # nobody need ask for it

    def renewed(self, *, is_same: bool = False) -> None:
        """What is listed is looked at as it comes."""

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

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:
        """Learn from a list of tools, which passes as it is."""
        self._catalogue.shown(response, is_old=is_old)
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
