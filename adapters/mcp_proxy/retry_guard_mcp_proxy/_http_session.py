"""The session at a server that is reached over HTTP: opened again where the server lost it."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import httpx2

from retry_guard_mcp_proxy._errors import DownError, RefusedError, ServerError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_asking import Asking, Hear, Reply
from retry_guard_mcp_proxy._http_headers import SESSION, VERSION
from retry_guard_mcp_proxy._http_listening import Listening
from retry_guard_mcp_proxy._http_lost import is_lost
from retry_guard_mcp_proxy._http_signs import Signs
from retry_guard_mcp_proxy._http_wire import Wire
from retry_guard_mcp_proxy._messages import (
    CLOSED,
    Message,
    encoded,
    failure,
    is_object,
    object_in,
    request,
)
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._wishes import ask_again

OPENING = 30.0
"""Seconds that a server has to open a session again."""


class Link:
    """A session. `number`: how many there were before."""

    def __init__(
        self,
        wire: Wire,
        session: Session,
        said: Callable[[int, Heard], Awaitable[None]],
        signs: Signs,
        limit: float = OPENING,
    ) -> None:
        """There is none yet. `said`: hears what the server says by itself.

        `limit`: in place of OPENING.
        """
        self._signs = signs
        self.number = self._count = 0
        self._wire, self._session, self._said = wire, session, said
        self._id: str | None = None
        self._version: str | None = None
        self._lost, self._opening = False, asyncio.Lock()
        self._limit, self._in_vain, self._why = limit, 0, ""
        self._listening = Listening(wire, signs.anew)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a request in this session."""
        known = {SESSION: self._id, VERSION: self._version}
        return {name: value for name, value in known.items() if value is not None}

    def hear(self) -> Hear:
        """Return who hears what the server says in this session, whatever that does to us."""
        number = self.number

        async def hear(found: Heard) -> None:
            try:
                await self._said(number, found)
            except Exception:  # noqa: BLE001 - what follows it, such as the answer, is heard too
                note(f"a message was not passed on:\n{traceback.format_exc()}")

        return hear

    def opened(self, reply: Reply) -> None:
        """Note that the server has answered `initialize`."""
        message = reply.heard.message
        if not is_object(message) or "result" not in message:
            return
        self._signs.anew()
        self._listening.end()
        version = object_in(message, "result").get("protocolVersion")
        self._id = reply.headers.get(SESSION)
        self._version = version if isinstance(version, str) else None
        self._lost = False

    def lost(self, number: int, error: httpx2.HTTPStatusError, code: object = None) -> bool:
        """Whether the error says that there is no such session. `code`: see `is_lost`."""
        if self._id is None or not is_lost(error, code):
            return False
        self._lost = self._lost or number == self.number
        return True

    async def ready(self) -> None:
        """Open the session again if it is lost; who waits at once shares the one try.

        Raises `DownError`.
        """
        seen = self._in_vain
        async with self._opening:
            opening = self._session.opening
            if not self._lost or opening is None:
                return
            if seen == self._in_vain:
                try:
                    await asyncio.wait_for(self._open(opening), self._limit)
                except (TimeoutError, httpx2.HTTPError, ServerError) as error:
                    self._lost = True  # also one that was opened, and never heard that it is
                    self._in_vain += 1
                    self._why = str(error) or "it did not answer"
                else:
                    return
            raise DownError(f"the session was not opened again: {self._why}")

    async def _open(self, opening: Mapping[str, object]) -> None:
        self.number += 1
        reply = await self._wire.ask(self._asking("initialize", opening, {}))
        message = reply.heard.message
        if not is_object(message) or "result" not in message:
            raise RefusedError("the server answered with an error")
        self.opened(reply)
        if self._session.opened is not None:
            await self._wire.tell(self._session.opened, self.headers, self.hear())
            self.listen()
            await ask_again(self._session.wishes.granted, self._again)

    def _asking(
        self, method: str, params: Mapping[str, object], headers: Mapping[str, str]
    ) -> Asking:
        self._count += 1
        given = f"retry-guard-session-{self._count}"
        line = encoded(request(given, method, params))
        return Asking(line=line, given=given, headers=headers, hear=self.hear(), resumes=False)

    async def _again(self, method: str, params: Message) -> Message:
        asking = self._asking(method, params, self.headers)
        try:
            answer = (await self._wire.ask(asking)).heard.message
        except (httpx2.HTTPError, ServerError) as error:
            return failure(asking.given, CLOSED, str(error) or type(error).__name__)
        return answer if is_object(answer) else {}

    def listen(self) -> None:
        """Begin to hear what the server says by itself."""
        self._listening.begin(self.headers, self.hear(), partial(self.lost, self.number))

    async def close(self) -> None:
        """End the session."""
        self._listening.end()
        if self._id is not None and not self._lost:
            await self._wire.end(self.headers)
