"""One message, one POST: what is said before its answer, and the answer."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress

import httpx2

from retry_guard_mcp_proxy._errors import ClosedError, ServerError
from retry_guard_mcp_proxy._http_asking import Asking, Hear, Reply, answer_in
from retry_guard_mcp_proxy._http_events import EVENTS, Tail, messages, refusal, refused
from retry_guard_mcp_proxy._http_rest import rest

SILENCE = 900.0
"""Seconds without a byte after which nobody waits for an answer any more."""
CONNECT, WRITE, TOLD = 10.0, 60.0, 30.0
"""Seconds to connect; to write; to take a message that gets no answer, or to say why not."""
IDLE = 2.0
"""Seconds that a connection is kept for the next request. Many servers close it after 5 s, and
the outcome of a request that meets that is unknown."""
ACCEPT = {"Accept": f"application/json, {EVENTS}", "Content-Type": "application/json"}


class Wire:
    """A URL. Each message is sent once, and no redirect is followed.

    What httpx2 raises here, `retry_guard_outcomes` can judge.
    """

    def __init__(self, url: str, headers: Mapping[str, str], silence: float = SILENCE) -> None:
        """Connect to nothing yet. `headers`: of every request. `silence`: in place of SILENCE.

        Raises `ServerError` for a URL, or for proxies and certificates of the environment, that
        cannot be used.
        """
        self._hearing = set[asyncio.Task[None]]()
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
                    return await _refusal(response, asking)
                found = await answer_in(response, asking, tail)
        except httpx2.TransportError:
            if not (asking.resumes and tail.last):
                raise
        found = found or await rest(self.events, asking, tail)
        if found is None:
            raise ClosedError("the server ended its response before it answered")
        return Reply(found, began)

    @asynccontextmanager
    async def events(
        self, headers: Mapping[str, str], tail: Tail
    ) -> AsyncGenerator[httpx2.Response]:
        """Open the stream of what the server says by itself, or of what is left of one."""
        last = {"Last-Event-ID": tail.last} if tail.last else {}
        # The name of an event is text of any kind, as are the headers that the operator gives.
        more = httpx2.Headers({"Accept": EVENTS, **headers, **last}, encoding="utf-8")
        async with self._client.stream("GET", self._url, headers=more) as response:
            if not response.is_success:
                await response.aread()
                raise refused(response)
            yield response

    async def tell(self, line: bytes, headers: Mapping[str, str], hear: Hear) -> None:
        """Send what gets no answer; return once it is taken.

        What the server says all the same is handed on, for as long as it says it.
        """
        request = self._client.build_request(
            "POST",
            self._url,
            content=line,
            headers={**ACCEPT, **headers},
            timeout=httpx2.Timeout(TOLD),
        )
        try:
            async with asyncio.timeout(TOLD):  # drop by drop it would take for ever
                response = await self._client.send(request, stream=True)
        except TimeoutError:
            raise httpx2.ReadTimeout("it was not taken in time", request=request) from None
        if not response.is_success:
            async with aclosing(response):
                await _read(response)
                raise refused(response)
        hearing = asyncio.create_task(_heard(response, hear))
        self._hearing.add(hearing)
        hearing.add_done_callback(self._hearing.discard)

    async def end(self, headers: Mapping[str, str]) -> None:
        """Let the server know that the session is over."""
        await self._client.delete(self._url, headers=dict(headers))

    async def close(self) -> None:
        """Close every connection."""
        for hearing in tuple(self._hearing):
            hearing.cancel()
        await asyncio.gather(*self._hearing, return_exceptions=True)
        await self._client.aclose()


async def _refusal(response: httpx2.Response, asking: Asking) -> Reply:
    await _read(response)
    return Reply(refusal(response, asking.given), response.headers, refused(response))


async def _read(response: httpx2.Response) -> None:
    """Read what a server says of its refusal. Raises `ClosedError` if it does not end."""
    try:
        async with asyncio.timeout(TOLD):
            await response.aread()
    except TimeoutError:
        raise ClosedError("the server did not end its refusal") from None


async def _heard(response: httpx2.Response, hear: Hear) -> None:
    with suppress(httpx2.HTTPError):  # it was taken: nothing more is needed
        async with aclosing(response), aclosing(messages(response, Tail())) as said:
            async for found in said:
                await hear(found)
