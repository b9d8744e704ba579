"""A server that is a process: what is said to it, and what it says."""

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence

from retry_guard_mcp_proxy._asked import CANCELLED, Asked
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import ClosedError, DownError, RefusedError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._lives import Hooks, Lives
from retry_guard_mcp_proxy._messages import (
    Message,
    encoded,
    is_object,
    is_request,
    is_response,
    request as request_of,
)
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY, Ears
from retry_guard_mcp_proxy._waiting import Waiting

OPENING = 30.0
"""Seconds that a server started anew has to answer `initialize`."""


class StdioUpstream:
    """A process. When it ended, the next request starts it again, with its session."""

    def __init__(self, command: Sequence[str], session: Session, ears: Ears) -> None:
        """Start nothing: `open` takes the process that was started already."""
        self._session, self._ears = session, ears
        self._waiting, self._asked = Waiting(), Asked()
        hooks = Hooks(said=self._said, lost=self._lost, reopen=self._reopen)
        self._lives = Lives(command, hooks)

    async def open(self, process: subprocess.Popen[bytes]) -> None:
        """Take over the process that was started, and begin to hear it."""
        await self._lives.take_over(process)

    async def _said(self, life: Life, found: Heard) -> None:
        """Give an answer to whoever waits for it; hand on all else."""
        line, message = found
        if isinstance(message, list):
            rest = [one for one in message if not (is_response(one) and self._waiting.settle(one))]
            if rest:
                await self._ears.said(line if rest == message else encoded(rest), rest)
            return
        if is_response(message) and self._waiting.settle(message):
            return
        if is_request(message):
            line = self._asked.asks(line, message, life.number)
        elif message.get("method") == CANCELLED:
            line = self._asked.withdraws(line, message, life.number)
        await self._ears.said(line, message)

    async def _lost(self, life: Life, how: str, was_current: bool) -> None:  # noqa: FBT001 - a hook
        error = ClosedError(f"the connection closed: the server ended ({how})")
        self._waiting.fail(error, life.number)
        if was_current:
            await self._ears.ended(how)

    async def _reopen(self, life: Life) -> None:
        if self._session.opening is not None:
            asked = self._ask(life, self.new_id(), "initialize", self._session.opening)
            answer = await asyncio.wait_for(asked, OPENING)
            if "result" not in answer:
                raise RefusedError("it answered with an error")
            if self._session.opened is not None:
                await life.say(self._session.opened)
        for line in self._ears.again():
            await life.say(line)

    def new_id(self) -> str:
        """Return an id that nobody else has."""
        return self._waiting.new_id()

    def is_own(self, token: object) -> bool:
        """Whether it is such an id."""
        return self._waiting.is_own(token)

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,  # noqa: ARG002 - a pipe has none
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        """Make a request of the proxy's own; see `Upstream.request`."""
        life = await self._lives.get()
        goes()
        return await self._ask(life, given, method, params)

    async def _ask(self, life: Life, given: str, method: str, params: Message) -> Message:
        try:
            line = encoded(request_of(given, method, params))
        except (ValueError, RecursionError) as error:
            raise DownError(f"nothing was sent: {error}") from None
        with self._waiting.answer_to(given, life.number) as future:
            try:
                await life.say(line)
            except ClosedError:
                await self._lives.bury(life)
                raise
            return await future

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what the client said. Raises `DownError` for a request that cannot be."""
        said = message if isinstance(message, list) else [message]
        requests = [one for one in said if is_object(one) and is_request(one)]
        if requests:
            life = await self._lives.get()
            for one in requests:
                self._ears.asked(line if one is message else encoded(one), one)
            await self._say(life, line)
        elif self._lives.current is not None:
            await self._unasked(self._lives.current, line, message)

    async def _unasked(self, life: Life, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what no answer is due to."""
        said: bytes | None = line
        if isinstance(message, dict) and is_response(message):
            said = self._asked.answers(line, message, life.number)
        if said is not None:
            await self._say(life, said)

    async def _say(self, life: Life, line: bytes) -> None:
        """Write a line; where nobody reads it, whoever waits for an answer is told so."""
        try:
            await life.say(line)
        except ClosedError:
            await self._lives.bury(life)

    async def close(self, patience: Patience) -> None:
        """End the process, in order, and start none again."""
        await self._lives.close(patience)
