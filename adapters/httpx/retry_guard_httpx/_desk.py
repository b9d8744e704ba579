"""Which requests are guarded, and what each of them asks for."""

import logging
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from retry_guard import AsyncGuard, Guard, GuardError, UsageError, turn_here
from retry_guard_httpx._arguments import arguments_of
from retry_guard_httpx._exchange import Exchange
from retry_guard_httpx._routes import SAFE, Route, Router

_log = logging.getLogger("retry_guard")

_NEVER = frozenset({"authorization", "proxy-authorization", "set-cookie", "cookie"})
"""Headers that are not recorded, whoever asks for it."""


class Desk:
    """Takes requests in. Safe to share between threads."""

    def __init__(
        self,
        library: ModuleType,
        guard: Guard | AsyncGuard,
        *,
        headers: Iterable[str],
        strict: bool,
    ) -> None:
        """Raises `UsageError` for contracts and headers that cannot be."""
        if isinstance(headers, str):
            raise UsageError(f"headers: give a list of names: [{headers!r}]")
        self._headers = frozenset(name.lower() for name in headers)
        if self._headers & _NEVER:
            name = min(self._headers & _NEVER)
            raise UsageError(
                f"headers: {name} says who asks, so it is never recorded: leave it out"
            )
        self._library, self._guard, self._strict = library, guard, strict
        self._router = Router(guard.contracts)

    def take(self, request: Any) -> tuple[Exchange, str, str | None] | None:
        """Return the exchange of a request, scope and turn; None: it passes as it is."""
        if self._guard.mode == "off":
            return None
        found = self._router.find(request)
        if found is None:
            self._refuse_unknown(request)
            return None
        route, values = found
        if route.contract.effect == "read":
            return None
        try:
            scope, turn = _here(route.contract.tool)
            arguments = arguments_of(route.contract.tool, values, request)
        except GuardError as error:
            if self._guard.mode == "guard":
                raise
            _log.warning("not observed, and would be refused: %s", error)
            return None
        return self._exchange(route, request, arguments), scope, turn

    def _exchange(self, route: Route, request: Any, arguments: dict[str, Any]) -> Exchange:
        key = route.contract.key
        _, _, ack = ((key and key.ack) or "").partition("header:")
        return Exchange(
            http=self._library,
            guard=self._guard,
            route=route,
            request=request,
            arguments=arguments,
            keep=self._headers | {ack.lower()},
        )

    def _refuse_unknown(self, request: Any) -> None:
        if self._strict and self._guard.mode == "guard" and request.method not in SAFE:
            url = request.url.copy_with(query=None, userinfo=b"")
            msg = f"{request.method} {url} fits no contract: add one, or leave out strict"
            raise UsageError(f"{msg}; nothing sent")


def _here(tool: str) -> tuple[str, str | None]:
    here = turn_here()
    if here is None:
        raise UsageError(
            f"{tool} was asked for outside a turn: use `with guard.turn(scope, turn):`"
        )
    return here
