"""A request may wait for a connection; when there is one, it is asked whether it may still go."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from retry_guard import hold, hold_now, may_go

_LATE = "nothing was sent: it had to wait, and meanwhile it was not this call's to send any more"


def traced(request: Any, extra: Mapping[str, str], http: ModuleType) -> Any:
    """Return the request of a `Client`, which raises `ConnectError` where it may not go any more.

    Transports on httpcore call the extension `trace` right before the first byte; one of the
    request's own is called too. Others know no such moment.
    """
    own = request.extensions.get("trace")

    def trace(step: str, info: Mapping[str, Any]) -> None:
        if _begins(step, info) and not (may_go(extra) or hold_now(extra)):
            raise http.ConnectError(_LATE, request=request)
        if own is not None:
            own(step, info)

    request.extensions = {**request.extensions, "trace": trace}
    return request


def traced_async(request: Any, extra: Mapping[str, str], http: ModuleType) -> Any:
    """Return the request of an `AsyncClient`; see `traced`."""
    own = request.extensions.get("trace")

    async def trace(step: str, info: Mapping[str, Any]) -> None:
        if _begins(step, info) and not (may_go(extra) or await hold(extra)):
            raise http.ConnectError(_LATE, request=request)
        if own is not None:
            await own(step, info)

    request.extensions = {**request.extensions, "trace": trace}
    return request


def _begins(step: str, info: Mapping[str, Any]) -> bool:
    """Whether the first byte is next. A proxy on the way is asked first, for a tunnel."""
    return step.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT"
