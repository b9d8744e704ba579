"""The transports themselves: a blocking and an awaited one, for either library."""

import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType, TracebackType
from typing import Any, Self

from retry_guard import AsyncGuard, Guard, UsageError
from retry_guard_httpx._desk import Desk
from retry_guard_httpx._going import traced, traced_async

_LIBRARIES = ("httpx", "httpx2")


class Guarded:
    """What both share: the transport inside, the guard, and what takes requests in."""

    def __init__(self, transport: Any, guard: Any, desk: Desk) -> None:
        """Nothing is opened yet."""
        self._transport, self._guard, self._desk = transport, guard, desk


class Blocking(Guarded):
    """Guards the requests of a `Client`."""

    def handle_request(self, request: Any) -> Any:
        """Return the response to one request; see `guarded`."""
        taken = self._desk.take(request)
        if taken is None:
            return self._transport.handle_request(request)
        exchange, scope, turn = taken

        def send(arguments: dict[str, Any], extra: dict[str, str]) -> Any:
            outgoing = traced(exchange.outgoing(arguments, extra), extra, exchange.http)
            response = self._transport.handle_request(outgoing)
            try:
                body = b"".join(response.stream)
            finally:
                response.close()
            return exchange.ended(response, body)

        call = self._guard.call
        outcome = call(exchange.tool, exchange.arguments, send=send, scope=scope, turn=turn)
        return exchange.answer(outcome)

    def __enter__(self) -> Self:
        self._transport.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._transport.__exit__(kind, error, trace)

    def close(self) -> None:
        """Close the transport inside."""
        self._transport.close()


class Awaited(Guarded):
    """Guards the requests of an `AsyncClient`."""

    async def handle_async_request(self, request: Any) -> Any:
        """Return the response to one request; see `guarded`."""
        taken = self._desk.take(request)
        if taken is None:
            return await self._transport.handle_async_request(request)
        exchange, scope, turn = taken

        async def send(arguments: dict[str, Any], extra: dict[str, str]) -> Any:
            outgoing = traced_async(exchange.outgoing(arguments, extra), extra, exchange.http)
            response = await self._transport.handle_async_request(outgoing)
            try:
                body = b"".join([part async for part in response.stream])
            finally:
                await response.aclose()
            return exchange.ended(response, body)

        call = self._guard.call
        outcome = await call(exchange.tool, exchange.arguments, send=send, scope=scope, turn=turn)
        return exchange.answer(outcome)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._transport.aclose()


@cache
def transport_class(library: ModuleType, *, awaits: bool) -> Any:
    """Return the class of transports for a library; `awaits`: for an `AsyncClient`."""
    own, base = (Awaited, "AsyncBaseTransport") if awaits else (Blocking, "BaseTransport")
    return type("GuardedTransport", (own, getattr(library, base)), {})


def library_of(transport: Any, guard: Any) -> ModuleType:
    """Return httpx or httpx2, whichever the transport belongs to. Raises `UsageError`."""
    if not isinstance(guard, Guard | AsyncGuard):
        raise UsageError(f"guard: give a Guard or AsyncGuard, not {type(guard).__name__}")
    for inside in _inside(transport):
        _refuse_again(inside)
    awaits = isinstance(guard, AsyncGuard)
    base = "AsyncBaseTransport" if awaits else "BaseTransport"
    # By the class itself: SDKs that show it under their own name change its module.
    for library in filter(None, map(sys.modules.get, _LIBRARIES)):
        if isinstance(transport, getattr(library, base)):
            return library
    example = "AsyncHTTPTransport" if awaits else "HTTPTransport"
    name, given = type(guard).__name__, type(transport).__name__
    msg = f"{name} guards a transport such as httpx.{example}(), not {given}"
    raise UsageError(msg)


def _inside(transport: Any) -> Iterator[Any]:
    """Yield a transport, and those that it holds."""
    rest, seen = [transport], set[int]()
    while rest:
        one = rest.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            held = list(getattr(one, "__dict__", {}).values())
            rest += [other for other in held if _handles(other)]


def _handles(other: object) -> bool:
    return hasattr(other, "handle_request") or hasattr(other, "handle_async_request")


def _refuse_again(transport: object) -> None:
    if isinstance(transport, Guarded):
        raise UsageError("the transport is guarded already: guard it once")
    kind = type(transport)
    if "Retry" in kind.__name__ or kind.__module__.partition(".")[0] == "httpx_retries":
        advice = "leave it out, the guard sends again where that is safe"
        raise UsageError(f"{kind.__name__} sends again by itself, unseen: {advice}")
