"""One message, one POST: what is said before its answer, and the answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx2

from retry_guard_mcp_proxy._errors import ClosedError, ServerError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_events import EVENTS, Tail, answers, messages, refusal, refused
from retry_guard_mcp_proxy._messages import is_object, is_response
from retry_guard_mcp_proxy._upstream import NOBODY

SILENCE = 900.0
"""Seconds without a byte after which nobody waits for an answer any more."""
CONNECT, WRITE, TOLD = 10.0, 60.0, 30.0
"""Seconds to connect; to write; to take a message that gets no answer."""
IDLE = 2.0
"""Seconds that a connection is kept for the next request. Many servers close it after 5 s, and
the outcome of a request that meets that is unknown."""
ACCEPT = {"Accept": f"application/json, {EVENTS}", "Content-Type": "application/json"}
_TRIES, _PAUSE, _SHORTEST = 3, 1.0, 0.05
"""How often in a row the rest of an answer is asked for, and the seconds before; the server may
say how many, but not less than the last."""

Hear = Callable[[Heard], Awaitable[None]]


class Reply(NamedTuple):
    """The answer to a request, and the headers of the response that it began with.

    `refused`: what its status says, where that is no success.
    """

    heard: Heard
    headers: Mapping[str, str]
    refused: httpx2.HTTPStatusError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A request. `given`: its id. `hear`: what the server says before the answer.

    `resumes`: the server keeps the rest of an answer that broke off, if it numbers its events.
    `goes`: called when there is a connection, right before the first byte; what it raises comes
    through, and nothing is sent.
    """

    line: bytes
    given: object
    headers: Mapping[str, str]
    hear: Hear
    resumes: bool
    goes: Callable[[], None] = NOBODY

    @property
    def extensions(self) -> dict[str, Any]:
        """What httpcore calls on its way."""
        return {} if self.goes is NOBODY else {"trace": self._reached}

    async def _reached(self, step: str, info: Mapping[str, Any]) -> None:
        # A proxy on the way is asked first, by a request of its own, for a tunnel.
        if step.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
            self.goes()


class Wire:
    """A URL. Each message is sent once, and no redirect is followed.

    What httpx2 raises here, `retry_guard_outcomes` can judge.
    """

    def __init__(self, url: str, headers: Mapping[str, str], silence: float = SILENCE) -> None:
        """Connect to nothing yet. `headers`: of every request. `silence`: in place of SILENCE.

        Raises `ServerError` for a URL, or for proxies and certificates of the environment, that
        cannot be used.
        """
        try:
            self._url = httpx2.URL(url)
            self._client = httpx2.AsyncClient(
                headers=dict(headers),
                follow_redirects=False,
                timeout=httpx2.Timeout(silence, connect=CONNECT, write=WRITE, pool=None),
                limits=httpx2.Limits(max_connections=None, keepalive_expiry=IDLE),
            )
        except (httpx2.InvalidURL, ImportError, OSError, ValueError) as error:
            raise ServerError(f"the server at --url cannot be reached: {error}") from None

    async def ask(self, asking: Asking) -> Reply:
        """Make a request; return the answer, which may be an error.

        Raises what httpx2 raises, and `ClosedError` if what came back holds no answer.
        """
        tail, began, found = Tail(), httpx2.Headers(), None
        headers = {**ACCEPT, **asking.headers}
        sent = self._client.stream(
            "POST",
            self._url,
            content=asking.line,
            headers=headers,
            extensions=asking.extensions,
        )
        try:
            async with sent as response:
                began = response.headers
                if not response.is_success:
                    answer = await refusal(response, asking.given)
                    return Reply(answer, began, refused(response))
                found = await _answer(response, asking, tail)
        except httpx2.TransportError:
            if not (asking.resumes and tail.last):
                raise
        found = found or await self._rest(asking, tail)
        if found is None:
            raise ClosedError("the server ended its response before it answered")
        return Reply(found, began)

    async def _rest(self, asking: Asking, tail: Tail) -> Heard | None:
        """Ask for the rest of an answer that broke off, which executes nothing."""
        left = _TRIES if asking.resumes else 0
        while left and tail.last:
            await asyncio.sleep(_PAUSE if tail.pause is None else max(tail.pause, _SHORTEST))
            before, left = tail.last, left - 1
            try:
                async with self.events(asking.headers, tail) as response:
                    found = await _answer(response, asking, tail)
            except httpx2.HTTPStatusError:
                return None
            except httpx2.HTTPError:
                continue
            if found is not None:
                return found
            left = left if tail.last == before else _TRIES
        return None

    @asynccontextmanager
    async def events(
        self, headers: Mapping[str, str], tail: Tail
    ) -> AsyncGenerator[httpx2.Response]:
        """Open the stream of what the server says by itself, or of what is left of one."""
        last = {"Last-Event-ID": tail.last} if tail.last else {}
        more = {"Accept": EVENTS, **headers, **last}
        async with self._client.stream("GET", self._url, headers=more) as response:
            if not response.is_success:
                await response.aread()
                raise refused(response)
            yield response

    async def tell(self, line: bytes, headers: Mapping[str, str], hear: Hear) -> None:
        """Send what gets no answer; hand on what the server says all the same."""
        more = {**ACCEPT, **headers}
        sent = self._client.stream(
            "POST", self._url, content=line, headers=more, timeout=httpx2.Timeout(TOLD)
        )
        async with sent as response:
            if not response.is_success:
                await response.aread()
                raise refused(response)
            async with aclosing(messages(response, Tail())) as said:
                async for found in said:
                    await hear(found)

    async def end(self, headers: Mapping[str, str]) -> None:
        """Let the server know that the session is over."""
        await self._client.delete(self._url, headers=dict(headers))

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()


async def _answer(response: httpx2.Response, asking: Asking, tail: Tail) -> Heard | None:
    """Return the answer in a response, once what comes before it was heard; None: there is none."""
    async with aclosing(messages(response, tail)) as said:
        async for found in said:
            if answers(found, asking.given):
                return found
            if is_object(found.message) and not is_response(found.message):
                await asking.hear(found)
    return None
