"""Sends messages with the headers that their generation wants, in the session that there is."""

import asyncio
from collections.abc import Callable, Mapping

import httpx2

from retry_guard_mcp_proxy._errors import ClosedError, DownError
from retry_guard_mcp_proxy._http_asking import Asking, Reply
from retry_guard_mcp_proxy._http_headers import Headers
from retry_guard_mcp_proxy._http_learning import LIST, Learning
from retry_guard_mcp_proxy._http_lost import LostError
from retry_guard_mcp_proxy._http_session import Link
from retry_guard_mcp_proxy._http_signs import Signs
from retry_guard_mcp_proxy._http_wire import Wire
from retry_guard_mcp_proxy._messages import Message, is_object, object_in, params_of
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._session import Session, is_stateless
from retry_guard_mcp_proxy._upstream import NO_HEADERS, NOBODY

INITIALIZE, INITIALIZED = "initialize", "notifications/initialized"
CALL = "tools/call"


class Sender:
    """Requests side by side; each after the notifications and answers that came before it.

    `closed`: no further request is made.
    """

    def __init__(self, wire: Wire, link: Link, session: Session, signs: Signs) -> None:
        """Send nothing yet."""
        self.closed = False
        self._wire, self._link, self._session, self._signs = wire, link, session, signs
        self._headers, self._order = Headers(), asyncio.Lock()
        self._learning = Learning(self.ask)
        # Requests of the proxy's own that were refused for want of a session: `goes` may put one
        # off once the next session is there, and it is the same request when it comes again.
        self._again = set[object]()

    async def ask(
        self,
        line: bytes,
        message: Message,
        more: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Reply:
        """Make a request; return the answer. `more`: headers of this one.

        `goes`: called right before it is sent.

        It is sent once, but for one that the server refused unread, since it did not know the
        session: that waits for the next session. Raises `DownError` if nothing was sent,
        `ClosedError`, and what httpx2 raises.
        """
        given = None if goes is NOBODY else message["id"]
        if given is None or given not in self._again:
            try:
                return await self._ask(line, message, more, goes)
            except LostError:
                if given is not None:
                    self._again.add(given)
        reply = await self._ask(line, message, more, goes, is_last=True)
        self._again.discard(given)
        return reply

    async def _ask(
        self,
        line: bytes,
        message: Message,
        more: Mapping[str, str],
        goes: Callable[[], None],
        *,
        is_last: bool = False,
    ) -> Reply:
        async with self._order:
            pass  # what came before it is on its way
        if self.closed:
            raise DownError("the proxy is closing")
        stateless, starts = is_stateless(message), message["method"] == INITIALIZE
        in_session = not stateless and not starts
        if in_session:
            await self._link.ready()
        elif message["method"] == CALL and not self._headers.listed:
            await self._learning.learn(message, lambda: self._headers.listed)
        number = self._link.number
        headers = self._link.headers if in_session else self._headers.of(message)
        asking = Asking(
            line=line,
            given=message["id"],
            headers={**more, **headers},
            hear=self._link.hear(),
            resumes=not stateless,
            goes=goes,
        )
        reply = await self._asked(asking, number if in_session else None)
        # What it says again in a session that is new is the answer.
        if reply.refused is not None and in_session and not is_last:
            answer = reply.heard.message
            code = object_in(answer, "error").get("code") if is_object(answer) else None
            if self._link.lost(number, reply.refused, code):
                raise _lost(reply.refused)
        self._note(message["method"], reply)
        return reply

    async def _asked(self, asking: Asking, number: int | None) -> Reply:
        """Make the request. `number`: of the session that it is in; None: in none."""
        try:
            return await self._wire.ask(asking)
        except httpx2.HTTPStatusError as error:
            if number is not None and self._link.lost(number, error):
                raise _lost(error) from None
            self._signs.failed(error)
            raise
        except (httpx2.HTTPError, ClosedError) as error:
            self._signs.failed(error)
            raise

    def _note(self, method: str, reply: Reply) -> None:
        self._signs.answered(reply.heard.message)
        if method == INITIALIZE:
            self._link.opened(reply)
        elif method == LIST and is_object(reply.heard.message):
            self._signs.listed(reply.heard.message)
            self._headers.learn(reply.heard.message)

    async def tell(self, line: bytes, message: Message) -> None:
        """Send what gets no answer. Whatever goes wrong is the operator's to know."""
        async with self._order:
            number = self._link.number
            try:
                await self._wire.tell(line, self._told(message), self._link.hear())
            except httpx2.HTTPStatusError as error:
                self._link.lost(number, error)
                note(f"a message was not taken: {error}")
            except (httpx2.HTTPError, ClosedError) as error:
                note(f"a message was not sent: {str(error) or type(error).__name__}")
        if message.get("method") == INITIALIZED:
            self._link.listen()

    def _told(self, message: Message) -> Mapping[str, str]:
        """The headers of a message that does not say its version, as the last request did."""
        meant = {"_meta": self._session.stated, **params_of(message)}
        return self._headers.of({**message, "params": meant}) or self._link.headers


def _lost(error: httpx2.HTTPStatusError) -> LostError:
    return LostError(f"the server does not know the session any more: {error}")
