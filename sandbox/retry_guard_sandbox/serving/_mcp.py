"""The Model Context Protocol, as far as a server of tools needs it, in both its generations.

`initialize` opens a session (2025-06-18, 2025-11-25). Since 2026-07-28 there is none: each
request says its version in `_meta`, and `server/discover` tells what there is.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import cast

from retry_guard_sandbox.serving._host import Host, Offer
from retry_guard_sandbox.serving._messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    RpcError,
)
from retry_guard_sandbox.world._http import Json

SESSIONS = ("2025-11-25", "2025-06-18")
STATELESS = "2026-07-28"
_META = "io.modelcontextprotocol/"
_CAPABILITIES: Json = {"tools": {}}


class Protocol:
    """Answers the requests of one client."""

    def __init__(self, host: Host) -> None:
        """Serve that host."""
        self._host = host
        self._server = {"name": "retry-guard-sandbox", "version": _version()}
        self._methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "ping": lambda _params: {},
            "server/discover": self._discover,
            "tools/list": lambda _params: {"tools": [_shown(offer) for offer in host.offers]},
            "tools/call": self._call,
        }

    def answer(self, method: str, params: Json | None) -> Json:
        """Return the result of a request. `params`: None where they were no object.

        Raises `RpcError`, and `HostGoneError` where nobody serves the episode any more.
        """
        if params is None:
            raise RpcError(INVALID_PARAMS, "params is an object")
        stateless = _is_stateless(params)
        handler = self._methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {method}")
        if method == "server/discover" and not stateless:
            raise RpcError(INVALID_PARAMS, f"give _meta with {_META}protocolVersion")
        answered = handler(params)
        return self._enveloped(method, answered) if stateless else answered

    def _enveloped(self, method: str, answered: Json) -> Json:
        """Add what each result has since 2026-07-28."""
        cached: Json = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
        return {
            **answered,
            **cached,
            "resultType": "complete",
            "_meta": {f"{_META}serverInfo": self._server},
        }

    def _initialize(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in SESSIONS else SESSIONS[0],
            "capabilities": _CAPABILITIES,
            "serverInfo": self._server,
        }

    def _discover(self, _params: Json) -> Json:
        return {"supportedVersions": [STATELESS], "capabilities": _CAPABILITIES}

    def _call(self, params: Json) -> Json:
        name: object = params.get("name")
        arguments: object = params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "give the name of a tool, and arguments as an object")
        reply = self._host.call(name, cast("Json", arguments))
        return {"content": [{"type": "text", "text": reply.text}], "isError": reply.is_error}


@cache
def _version() -> str:
    return version("agent-retry-guard")


def _is_stateless(params: Json) -> bool:
    """Whether a request belongs to the newer generation; raises `RpcError` for one unknown."""
    meta: object = params.get("_meta")
    asked: object = cast("Json", meta).get(f"{_META}protocolVersion") if _is_object(meta) else None
    if asked is None:
        return False
    if asked != STATELESS:
        known: Json = {"supported": [STATELESS], "requested": asked}
        raise RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", known)
    return True


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _shown(offer: Offer) -> Json:
    return {
        "name": offer.name,
        "description": offer.description,
        "inputSchema": offer.parameters,
        "annotations": {"readOnlyHint": offer.is_read},
    }
