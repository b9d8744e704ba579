"""The one function that puts a guard around a transport."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from retry_guard import AsyncGuard, Guard
from retry_guard_httpx._desk import Desk
from retry_guard_httpx._transports import library_of, transport_class

if TYPE_CHECKING:
    import httpx
    import httpx2


@overload
def guarded(
    transport: "httpx.BaseTransport",
    guard: Guard,
    *,
    headers: Iterable[str] = (),
    strict: bool = False,
) -> "httpx.BaseTransport": ...
@overload
def guarded(
    transport: "httpx.AsyncBaseTransport",
    guard: AsyncGuard,
    *,
    headers: Iterable[str] = (),
    strict: bool = False,
) -> "httpx.AsyncBaseTransport": ...
@overload
def guarded(
    transport: "httpx2.BaseTransport",
    guard: Guard,
    *,
    headers: Iterable[str] = (),
    strict: bool = False,
) -> "httpx2.BaseTransport": ...
@overload
def guarded(
    transport: "httpx2.AsyncBaseTransport",
    guard: AsyncGuard,
    *,
    headers: Iterable[str] = (),
    strict: bool = False,
) -> "httpx2.AsyncBaseTransport": ...
def guarded(
    transport: Any,
    guard: Guard | AsyncGuard,
    *,
    headers: Iterable[str] = (),
    strict: bool = False,
) -> Any:
    """Return a transport that makes each write once that a contract of the guard is about.

    A contract is about the requests that fit its tool, where that is a route: `POST
    https://api.example.com/v1/customers/{customer}/charges`. `headers`: further response headers
    that a replay shall have. `strict`: refuse a write that fits no contract, instead of letting
    it pass. Requests are made inside `with guard.turn(scope, turn):`.

    The client gets the response of the server, or the recorded one again. It raises
    `UnresolvedError`, which is no error of the transport, where the outcome is open or the call
    was refused; `NotExecutedError` where an equal request that this one waited for did not run;
    and `ArgumentError`, `LedgerError` and `UsageError`, each before anything is sent.

    Raises `UsageError` for what is no transport, is one that sends again by itself or is guarded
    already, does not fit the kind of the guard, or whose guard has no contract of a route.
    """
    library = library_of(transport, guard)
    desk = Desk(library, guard, headers=headers, strict=strict)
    kind = transport_class(library, awaits=isinstance(guard, AsyncGuard))
    return kind(transport, guard, desk)
