"""How a key that travels as header or metadata reaches the body of a tool."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SENT: ContextVar[Mapping[str, str]] = ContextVar("retry_guard_sent", default={})  # noqa: B039 - never changed


def sent_headers() -> dict[str, str]:
    """Return what the body of a guarded tool has to send along: its key, by the header's name."""
    return {name.partition(":")[2]: value for name, value in _SENT.get().items()}


@contextmanager
def sending(extra: Mapping[str, str]) -> Generator[None]:
    """Give the body of a tool what it has to send along; for adapters."""
    token = _SENT.set(extra)
    try:
        yield
    finally:
        _SENT.reset(token)
