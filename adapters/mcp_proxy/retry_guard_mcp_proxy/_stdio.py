"""A server that is a process, and is started again when it ended."""

import asyncio
import subprocess
from collections.abc import Sequence

from retry_guard_mcp_proxy._asked import CANCELLED, Asked
from retry_guard_mcp_proxy._child import Patience, little, start
from retry_guard_mcp_proxy._errors import (
    ClosedError,
    DownError,
    RefusedError,
    ServerError,
)
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._messages import (
    Message,
    encoded,
    is_request,
    is_response,
    request as request_of,
)
from retry_guard_mcp_proxy._restarts import Restarts
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Ears
from retry_guard_mcp_proxy._waiting import Waiting

OPENING = 30.0
"""Seconds that a server started anew has to answer `initialize`."""


class StdioUpstream:
    """A process. When it ended, the next request starts it again, with its session."""

    def __init__(self, command: Sequence[str], session: Session, ears: Ears) -> None:
        """Start nothing: `open` takes the process that was started already."""
        self._command, self._session, self._ears = command, session, ears
        self._life: Life | None = None
        self._lives, self._closing = 0, False
        self._waiting, self._asked, self._restarts = Waiting(), Asked(), Restarts()
        self._starting: asyncio.Task[Life] | None = None
        self._burying, self._running = asyncio.Lock(), set[Life]()

    async def open(self, process: subprocess.Popen[bytes]) -> None:
        """Take over the process that was started, and begin to hear it."""
        self._life = await self._born(process)

    async def _born(self, process: subprocess.Popen[bytes]) -> Life:
        number, self._lives = self._lives, self._lives + 1
        life = await Life.begin(process, number, self._said, self._ended)
        self._running.add(life)
        return life

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

    async def _ended(self, life: Life) -> None:
        """Bury a life that is over, once, and tell whoever waited for it."""
        async with self._burying:
            if life.buried or self._closing:
                return
            life.over = life.buried = True
            how = self._restarts.how = await life.close(little())
            error = ClosedError(f"the connection closed: the server ended ({how})")
            self._waiting.fail(error, life.number)
            self._running.discard(life)
            if self._life is life:
                self._life = None
                await self._ears.ended(how)

    async def _alive(self) -> Life:
        """Return the life that there is, or begin the next one. Raises `DownError`."""
        if self._life is not None and not self._life.over:
            return self._life
        if self._closing:
            raise DownError("the proxy is closing")
        if self._starting is None:
            self._starting = asyncio.create_task(self._next_life())
        return await asyncio.shield(self._starting)

    async def _next_life(self) -> Life:
        try:
            async with self._burying:
                pass  # whoever waited for the last life is told first
            while True:
                await asyncio.sleep(self._restarts.next())
                try:
                    self._life = await self._started()
                except ServerError as error:
                    self._restarts.how = str(error)
                else:
                    return self._life
        finally:
            self._starting = None

    async def _started(self) -> Life:
        """Start the process, and open the session that the client had.

        Raises `ClosedError` and `RefusedError`.
        """
        life = await self._born(start(self._command))
        if self._session.opening is not None:
            try:
                await self._reopen(life, self._session.opening)
            except (TimeoutError, ClosedError, RefusedError) as error:
                await self._ended(life)
                why = str(error) or "it did not answer"
                raise RefusedError(f"its session was not opened again: {why}") from None
        for line in self._ears.again():
            await life.say(line)
        return life

    async def _reopen(self, life: Life, opening: Message) -> None:
        asked = self._ask(life, self.new_id(), "initialize", opening)
        answer = await asyncio.wait_for(asked, OPENING)
        if "result" not in answer:
            raise RefusedError("it answered with an error")
        if self._session.opened is not None:
            await life.say(self._session.opened)

    def new_id(self) -> str:
        """Return an id that nobody else has."""
        return self._waiting.new_id()

    def is_own(self, token: object) -> bool:
        """Whether it is such an id."""
        return self._waiting.is_own(token)

    async def request(self, given: str, method: str, params: Message) -> Message:
        """Make a request of the proxy's own; see `Upstream.request`."""
        return await self._ask(await self._alive(), given, method, params)

    async def _ask(self, life: Life, given: str, method: str, params: Message) -> Message:
        try:
            line = encoded(request_of(given, method, params))
        except (ValueError, RecursionError) as error:
            raise DownError(f"nothing was sent: {error}") from None
        with self._waiting.answer_to(given, life.number) as future:
            try:
                await life.say(line)
            except ClosedError:
                await self._ended(life)
                raise
            return await future

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what the client said. Raises `DownError` for a request that cannot be."""
        if isinstance(message, dict) and is_request(message):
            life = await self._alive()
            self._ears.asked(line, message)
            await self._say(life, line)
        elif self._life is not None:
            number, said = self._life.number, line
            if isinstance(message, dict) and is_response(message):
                said = self._asked.answers(line, message, number) or b""
            await self._say(self._life, said)

    async def _say(self, life: Life, line: bytes) -> None:
        """Write a line; where nobody reads it, whoever waits for an answer is told so."""
        try:
            await life.say(line)
        except ClosedError:
            await self._ended(life)

    async def close(self, patience: Patience) -> None:
        """End the process, in order, and start none again."""
        self._closing = True
        if self._starting is not None:
            self._starting.cancel()
        for life in tuple(self._running):
            await life.close(patience)
