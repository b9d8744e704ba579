"""A server at a URL, reached with what an extra brings."""

from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._upstream import Ears, Upstream


def over_http(settings: Settings, session: Session, ears: Ears) -> Upstream:
    """Return a server at the URL of the settings. Raises `ServerError` without the extra."""
    try:
        from retry_guard_mcp_proxy._http import HttpUpstream  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        msg = f"--url needs the extra mcp-proxy, or {error.name} alone: pip install {error.name}"
        raise ServerError(msg) from None
    return HttpUpstream(settings.url or "", dict(settings.headers), session, ears)
