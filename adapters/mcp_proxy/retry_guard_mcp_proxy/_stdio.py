"""A server that is a process: what is said to it, and what it says."""

import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from retry_guard_mcp_proxy._asked import Asked
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import ClosedError, DownError, RefusedError, ServerError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._lives import Hooks, Lives
from retry_guard_mcp_proxy._messages import (
    Message,
    encoded,
    is_response,
    request as request_of,
)
from retry_guard_mcp_proxy._outgoing import Outgoing
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._telling import Telling, same
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY, Ears
from retry_guard_mcp_proxy._waiting import Waiting
from retry_guard_mcp_proxy._wishes import ask_again

OPENING = 30.0
"""Seconds that a server started anew has to open the session that the client had."""


class StdioUpstream:
    """A process. When it ended, the next request starts it again, with its session."""

    lasts = math.inf
    """Its end is seen."""

    def __init__(
        self, command: Sequence[str], session: Session, ears: Ears, opening: float = OPENING
    ) -> None:
        """Start nothing: `open` takes the process that was started already.

        `opening`: in place of OPENING.
        """
        self._session, self._ears = session, ears
        self._waiting, self._asked = Waiting(), Asked()
        hooks = Hooks(said=self._said, serves=self._serves, lost=self._lost, reopen=self._reopen)
        self._lives = Lives(command, hooks, opening)
        self._telling = Telling(self._lives, self._asked, ears)
        self._outgoing = Outgoing(self._telling.tell, ears.refused, self._telling.tell_now)

    async def open(self, process: subprocess.Popen[bytes]) -> None:
        """Take over the process that was started, and begin to hear it."""
        await self._lives.take_over(process)

    async def _said(self, life: Life, found: Heard) -> None:
        """Give an answer to whoever waits for it; hand on all else."""
        line, message = found
        if isinstance(message, list):
            rest = [one for one in message if not (is_response(one) and self._waiting.settle(one))]
            shown = [self._asked.shown(one, life.number) for one in rest]
            if shown or not message:
                await self._ears.said(line if same(shown, message) else encoded(shown), shown)
        elif not (is_response(message) and self._waiting.settle(message)):
            seen = self._asked.shown(message, life.number)
            known = line if seen is message else respelled(line, message, seen)
            await self._ears.said(known, seen)

    async def _serves(self, life: Life) -> Message:
        """Ask what any server answers, if only with an error."""
        stated = self._session.stated
        params: Message = {"_meta": stated} if stated else {}
        return await self._ask(life, "ping", params)

    async def _lost(self, life: Life, how: str, was_current: bool) -> None:  # noqa: FBT001 - a hook
        error = ClosedError(f"the connection closed: the server ended ({how})")
        self._waiting.fail(error, life.number)
        if was_current:
            await self._ears.ended(how)

    async def _reopen(self, life: Life) -> None:
        if self._session.opening is not None:
            answer = await self._ask(life, "initialize", self._session.opening)
            if "result" not in answer:
                raise RefusedError("it answered with an error")
            if self._session.opened is not None:
                await life.say(self._session.opened)
                ask = partial(self._ask, life)
                await ask_again(self._session.wishes.granted, ask)
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
        return await self._ask(life, method, params, given, goes)

    async def _ask(
        self,
        life: Life,
        method: str,
        params: Message,
        given: str = "",
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        given = given or self.new_id()
        try:
            line = encoded(request_of(given, method, params))
        except (ValueError, RecursionError) as error:
            raise DownError(f"nothing was sent: {error}") from None
        with self._waiting.answer_to(given, life.number) as future:
            try:
                await life.say(line, goes)
            except ServerError:
                if life.over:  # else it may not go, for whoever asks
                    await self._lives.bury(life)
                raise
            return await future

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what the client said, in order; see `Upstream.pass_on`."""
        if self._telling.is_awaited(message):
            self._telling.tell_at_once(line, message)
        else:
            await self._outgoing.put(line, message)

    async def close(self, patience: Patience) -> None:
        """Pass on what waits; end the process, in order, and start none again.

        A server that does not take in time what it is told is not waited for any longer.
        """
        if not await self._outgoing.settled(patience):
            patience.lose()
        await self._outgoing.close()
        await self._lives.close(patience)
