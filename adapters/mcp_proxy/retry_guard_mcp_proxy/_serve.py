"""The proxy as a whole: the server is started before anything slow is imported."""

from typing import TYPE_CHECKING

from retry_guard_mcp_proxy._child import end, little, start
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._signals import Signals

if TYPE_CHECKING:
    from retry_guard_mcp_proxy._kept import Kept
    from retry_guard_mcp_proxy._surveyed import Surveyed


def serve(settings: Settings, incoming: int, outgoing: int) -> None:
    """Stand between a client and a server until the client goes away, or a signal comes.

    `incoming`, `outgoing`: descriptors to speak with the client, which are then the proxy's own.
    Raises `GuardError` for a server that cannot be started, contracts that are wrong, and a ledger
    that cannot be opened. Signals are held back from now on, also when this has returned: it is
    the last that its process does.
    """
    signals = Signals()
    signals.hold()
    process = start(settings.command) if settings.url is None else None
    try:
        from retry_guard_mcp_proxy._run import run  # noqa: PLC0415 - slow, so after the start

        run(settings, process, incoming, outgoing, signals)
    finally:
        signals.hold()
        if process is not None and process.poll() is None:
            end(process, little())


def look_at(settings: Settings) -> "Surveyed":
    """Start a server, ask it for its tools, end it; return what it states of them.

    Raises `GuardError` for one that cannot be started, or that does not list its tools.
    """
    from retry_guard_mcp_proxy._offers import survey  # noqa: PLC0415 - slow, and no part of serving

    return survey(settings)


def kept_beside(settings: Settings) -> "Kept | None":
    """Return what is kept of a server beside the ledger, without a look at either; None: nothing.

    Raises `LedgerURLError` for an address that names no ledger.
    """
    from retry_guard_mcp_proxy._prepare import kept_of  # noqa: PLC0415 - slow, as above

    return kept_of(settings)
