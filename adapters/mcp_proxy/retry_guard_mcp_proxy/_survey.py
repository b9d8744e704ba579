"""A server is started, asked for its tools, and ended: for an operator who looks at it."""

import asyncio
from contextlib import suppress
from typing import Any

from retry_guard_mcp_proxy._child import Patience, start
from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._listing import list_tools
from retry_guard_mcp_proxy._messages import Message, encoded, failure, is_object, is_request
from retry_guard_mcp_proxy._reached import over_http
from retry_guard_mcp_proxy._session import PROTOCOL, STATELESS, Session
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._stdio import StdioUpstream
from retry_guard_mcp_proxy._upstream import Ears, Upstream

_OPENING = 30.0
_NAMED = {"name": "retry-guard", "version": "1"}
_OPENS: Message = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _NAMED}
_STATES: Message = {
    STATELESS: "2026-07-28",
    f"{PROTOCOL}clientInfo": _NAMED,
    f"{PROTOCOL}clientCapabilities": {},
}
_READY: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tools_of(settings: Settings) -> list[Message]:
    """Return what the server says of its tools, each with a name. Raises `ServerError`."""
    found = asyncio.run(_Survey(settings).tools())
    return [one for one in found if is_object(one) and isinstance(one.get("name"), str)]


class _Survey:
    def __init__(self, settings: Settings) -> None:
        self._settings, self._session = settings, Session()
        self._upstream: Upstream | None = None

    async def tools(self) -> list[Any]:
        ears = Ears(said=self._said, asked=_nothing, refused=_unheard, ended=_none, again=tuple)
        upstream = self._upstream = await self._reached(ears)
        try:
            await self._open(upstream)
            return await list_tools(upstream, self._session)
        except Exception as error:  # of whatever transport
            why = str(error) or "it did not answer in time"
            raise ServerError(f"the server did not list its tools: {why}") from error
        finally:
            await upstream.close(Patience())

    async def _reached(self, ears: Ears) -> Upstream:
        if self._settings.url is not None:
            return over_http(self._settings, self._session, ears)
        upstream = StdioUpstream(self._settings.command, self._session, ears)
        await upstream.open(start(self._settings.command))
        return upstream

    async def _open(self, upstream: Upstream) -> None:
        """Open a session; where the server has none, speak as the generation without them."""
        given = upstream.new_id()
        response: Message = {}
        with suppress(Exception):  # whatever it is, the list will show whether it matters
            async with asyncio.timeout(_OPENING):
                response = await upstream.request(given, "initialize", _OPENS)
        if "result" in response:
            await upstream.pass_on(encoded(_READY), _READY)
        else:
            self._session.hear({"method": "tools/list", "params": {"_meta": _STATES}}, b"")

    async def _said(self, _: bytes, message: Message | list[Message]) -> None:
        """Answer that nobody is there, so that a server that asks goes on."""
        if self._upstream is not None and is_object(message) and is_request(message):
            answer = failure(message["id"], -32601, "nobody answers here")
            await self._upstream.pass_on(encoded(answer), answer)


def _nothing(_line: bytes, _message: Message) -> None:
    pass


async def _unheard(_message: Message | list[Message], _why: Exception) -> None:
    pass


async def _none(_how: str) -> None:
    pass
