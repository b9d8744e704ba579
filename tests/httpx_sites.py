"""A server in this process, behind a guarded transport of httpx or httpx2."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import httpx
import httpx2
import pytest

from guards import QUICK
from http_clients import Reply
from retry_guard import Contract, Guard
from retry_guard_httpx import guarded, reader
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

HOST = "https://api.example.com"
CHARGES = f"{HOST}/v1/customers/c1/charges"
TOOL = f"POST {HOST}/v1/customers/{{customer}}/charges"
PLAIN = Contract(tool=TOOL)
KEYED = Contract(tool=TOOL, key={"param": "header:Idempotency-Key", "retention": 86400})
BODY = {"amount": 5}
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
every_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


wrapped, read_with = cast("Reply", guarded), cast("Reply", reader)
"""The same functions, for a library that is only known when the test runs."""


def closed_port() -> int:
    """Return a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


class Site:
    """A server in this process. `fates`: what the next requests meet; then all is well."""

    def __init__(self, library: Reply = httpx, *fates: object) -> None:
        self.http, self.fates = library, list(fates)
        self.requests: list[Reply] = []

    def __call__(self, request: Reply) -> Reply:
        self.requests.append(request)
        fate = self.fates.pop(0) if self.fates else None
        if isinstance(fate, BaseException):
            raise fate
        made = {"id": f"ch_{len(self.requests)}"}
        return self.http.Response(201, json=made) if fate is None else fate

    @contextmanager
    def client(self, *contracts: Contract, ledger: Reply = None, **more: Any) -> Generator[Reply]:  # noqa: ANN401 - handed on
        """A client of a new guard, inside the turn t1 of acme."""
        guard = guard_of(*contracts, ledger=ledger, **more.pop("parts", {}))
        transport = wrapped(self.http.MockTransport(self), guard, **more)
        with self.http.Client(transport=transport) as client, guard.turn("acme", "t1"):
            yield client


def guard_of(*contracts: Contract, ledger: Reply = None, **parts: Any) -> Guard:  # noqa: ANN401 - handed on
    parts = {"classify": classify, "policy": QUICK, **parts}
    return Guard(ledger or MemoryLedger(), contracts or [PLAIN], **parts)


def lost(library: Reply = httpx) -> BaseException:
    error: BaseException = library.ReadTimeout("no answer")
    return error
