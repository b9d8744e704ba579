"""A server that is reached over HTTP (streamable HTTP, of both generations)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import httpx2

from retry_guard_mcp_proxy._asked import CANCELLED, Asked
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_passed import passed
from retry_guard_mcp_proxy._http_passing import Passing
from retry_guard_mcp_proxy._http_sender import Sender
from retry_guard_mcp_proxy._http_session import Link
from retry_guard_mcp_proxy._http_signs import Signs
from retry_guard_mcp_proxy._http_wire import SILENCE, Wire
from retry_guard_mcp_proxy._messages import (
    INVALID_REQUEST,
    Message,
    encoded,
    failure,
    is_object,
    is_request,
    is_response,
    request as request_of,
)
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY, Ears
from retry_guard_mcp_proxy._waiting import Waiting

_ENDING = 2.0
"""Seconds to end the session."""


class HttpUpstream:
    """A URL. Each message is a POST of its own, and none that may have run is sent again."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        session: Session,
        ears: Ears,
        silence: float = SILENCE,
    ) -> None:
        """Connect to nothing yet. `headers`: of every request. `silence`: in place of SILENCE."""
        self._ears, self._wire = ears, Wire(url, headers, silence)
        self._signs = Signs(ears.anew)
        self._link = Link(self._wire, session, self._said, self._signs)
        self._sender = Sender(self._wire, self._link, session, self._signs)
        self._ids, self._asked, self._passing = Waiting(), Asked(), Passing()

    @property
    def lasts(self) -> float:
        """Seconds for which a list of tools is relied on without a sign that it is another."""
        return self._signs.lasts

    def new_id(self) -> str:
        """Return an id that nobody else has."""
        return self._ids.new_id()

    def is_own(self, token: object) -> bool:
        """Whether it is such an id."""
        return self._ids.is_own(token)

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        """Make a request of the proxy's own, once; see `Upstream.request`.

        What httpx2 raises is raised as it is: `judge` knows what it proves.
        """
        message = request_of(given, method, params)
        try:
            line = encoded(message)
        except (ValueError, RecursionError) as error:
            raise DownError(f"nothing was sent: {error}") from None
        answer = (await self._sender.ask(line, message, headers, goes)).heard.message
        return answer if is_object(answer) else {}

    async def _said(self, number: int, found: Heard) -> None:
        """Hand on what the server says beside answers."""
        line, message = found
        if not is_object(message) or (is_response(message) and self.is_own(message.get("id"))):
            return
        shown = self._asked.shown(message, number)
        known = line if shown is message else respelled(line, message, shown)
        await self._ears.said(known, shown)

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what the client said; what cannot be is answered with an error."""
        if isinstance(message, list):
            await self._refuse(line, message)
        elif is_request(message):
            self._ears.asked(line, message)
            self._passing.begin(self._passed(line, message), message)
        elif is_response(message):
            answer = self._asked.answers(message, self._link.number)
            if answer is not None:
                said = line if answer is message else respelled(line, message, answer)
                self._passing.begin(self._sender.tell(said, message), message)
        else:
            if message.get("method") == CANCELLED:
                self._ears.asked(line, message)
                if self._passing.stop(message):
                    return
            self._passing.begin(self._sender.tell(line, message), message)

    async def _refuse(self, line: bytes, messages: list[Any]) -> None:
        requests = [one["id"] for one in messages if is_object(one) and is_request(one)]
        why = "what is no single message is not sent over HTTP: send one JSON object a line"
        for given in [] if line.isspace() else requests or [None]:
            answer = failure(given, INVALID_REQUEST, why)
            await self._ears.said(encoded(answer), answer)

    async def _passed(self, line: bytes, message: Message) -> None:
        await self._ears.said(*await passed(self._sender, line, message))

    async def close(self, patience: Patience) -> None:
        """Let the client's requests end, in time; end the session, make no further request."""
        await self._passing.settled(patience)
        self._sender.closed = True
        await self._passing.close()
        with suppress(httpx2.HTTPError, TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._link.close()
        await self._wire.close()
