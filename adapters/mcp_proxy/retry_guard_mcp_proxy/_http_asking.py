"""A request to a server that is reached over HTTP, and the answer to it."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx2

from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_events import Tail, answers, messages
from retry_guard_mcp_proxy._messages import is_object, is_response
from retry_guard_mcp_proxy._upstream import NOBODY, Renewed

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
            if isinstance(self.goes, Renewed):  # to connect may take longer than it may be late
                await self.goes.renew()
            self.goes()


async def answer_in(response: httpx2.Response, asking: Asking, tail: Tail) -> Heard | None:
    """Return the answer in a response, once what comes before it was heard; None: there is none."""
    async with aclosing(messages(response, tail)) as said:
        async for found in said:
            if answers(found, asking.given):
                return found
            if is_object(found.message) and not is_response(found.message):
                await asking.hear(found)
    return None
