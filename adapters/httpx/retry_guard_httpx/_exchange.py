"""One guarded request: what goes out, how it ended, and the response that the caller gets."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from retry_guard import AsyncGuard, Done, Guard, NotExecuted, Outcome, Unknown, Unresolved
from retry_guard_httpx._kept import kept, recorded
from retry_guard_httpx._requests import request_of
from retry_guard_httpx._routes import Route

_log = logging.getLogger("retry_guard")

MARK = "retry_guard"
"""The extension of a response that says whether it is a replay, and what to tell the user."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request and its route. `keep`: further headers that are kept.

    `last`: the response that came back. `value`: what stands for it, if it was done.
    """

    http: ModuleType
    guard: Guard | AsyncGuard
    route: Route
    request: Any
    arguments: dict[str, Any]
    keep: frozenset[str]
    last: Any = None
    value: Any = None

    @property
    def tool(self) -> str:
        """The tool that the guard is asked for."""
        return self.route.contract.tool

    def outgoing(self, arguments: Mapping[str, Any], extra: Mapping[str, str]) -> Any:
        """Return the request that carries what was recorded."""
        return request_of(self.route, self.arguments, arguments, extra, self.request)

    def ended(self, response: Any, body: bytes) -> Any:
        """Return how the send ended that was answered so, as the guard's `classify` says.

        Where that fails it is the response itself, so that the guard notes the failure.
        """
        self.last = self._response(response, stream=self.http.ByteStream(body))
        self.last.extensions.update(response.extensions)
        try:
            read = self._response(response, content=body)
        except self.http.DecodingError:
            read = self.last
        try:
            end = cast("object", self.guard.classify(read))
        except Exception:  # noqa: BLE001 - it is the user's
            return read
        if isinstance(end, Done):
            self.value = read if read is self.last else kept(read, self.keep)
            return Done(self.value)
        return end if isinstance(end, NotExecuted | Unknown) else read

    def _response(self, given: Any, **body: Any) -> Any:
        made = self.http.Response
        return made(given.status_code, headers=given.headers, request=self.request, **body)

    def answer(self, outcome: Outcome) -> Any:
        """Return the response. Raises `UnresolvedError`, `NotExecutedError`, or what was raised."""
        if self.guard.mode != "guard":
            return self.last
        match outcome:
            case Done(value, replayed, warning):
                return self._marked(value, replayed=replayed, warning=warning)
            case NotExecuted(error):
                error = error.error if isinstance(error, Unknown) else error
                if isinstance(error, self.http.Response):
                    return self.last
                if isinstance(error, Exception):
                    raise error
                return outcome.unwrap()
            case Unresolved():
                return outcome.unwrap()

    def _marked(self, value: Any, *, replayed: bool, warning: str | None) -> Any:
        response = self.last
        if value is not self.value or value is None:
            old = recorded(value)
            stream = self.http.ByteStream(old.content)
            response = self.http.Response(old.status_code, headers=old.headers, stream=stream)
        response.extensions[MARK] = {"replayed": replayed, "warning": warning}
        if warning is not None:
            _log.warning("%s: %s", self.tool, warning)
        return response
