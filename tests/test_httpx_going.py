"""A request that waits for a connection goes only if the action is still this call's to send."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guards import HandClock, Lab
from http_clients import Reply
from httpx_sites import BODY, every_library, wrapped
from raw_servers import serving
from retry_guard import AsyncGuard, Contract, Guard
from retry_guard_ledgers import MemoryLedger, about
from retry_guard_outcomes import classify

Meanwhile = Callable[[], object]
OK = b"HTTP/1.1 201 Created\r\nContent-Length: 11\r\nContent-Type: application/json\r\n\r\n"
each_kind = pytest.mark.parametrize("awaits", [False, True])


class Wire:
    """A server that counts requests, and a transport whose connections take long."""

    def __init__(self, clock: HandClock, wait: float, meanwhile: Meanwhile) -> None:
        self.clock, self.wait, self.meanwhile = clock, wait, meanwhile
        self.requests = 0

    def __call__(self, connection: socket.socket) -> None:
        self.requests += 1
        connection.sendall(OK + b'{"id":"c1"}')

    def waits(self, step: str) -> None:
        """Let time pass while a connection is made."""
        if step.endswith("connect_tcp.started"):
            self.clock.at += self.wait
            self.meanwhile()

    def trace(self, step: str, _: object) -> None:
        self.waits(step)

    async def trace_async(self, step: str, _: object) -> None:
        self.waits(step)


async def asked(library: Reply, wire: Wire, ledger: MemoryLedger, *, awaits: bool) -> Any:  # noqa: ANN401 - a response
    """Make one guarded request; return the response, or what was raised."""
    parts: dict[str, Any] = {"classify": classify, "clock": wire.clock}
    with serving(wire) as address:
        contract = Contract(tool=f"POST http://{address}/charges", resource="charges")
        url = f"http://{address}/charges"
        try:
            if not awaits:
                transport = wrapped(library.HTTPTransport(), Guard(ledger, [contract], **parts))
                with library.Client(transport=transport) as client, Guard.turn("acme", "t1"):
                    return client.post(url, json=BODY, extensions={"trace": wire.trace})
            guard = AsyncGuard(ledger, [contract], **parts)
            transport = wrapped(library.AsyncHTTPTransport(), guard)
            async with library.AsyncClient(transport=transport) as client:
                with Guard.turn("acme", "t1"):
                    more = {"trace": wire.trace_async}
                    return await client.post(url, json=BODY, extensions=more)
        except library.TransportError as error:
            return error


@every_library
@each_kind
@pytest.mark.parametrize("wait", [0.0, 11.0, 100.0])
async def test_what_nobody_took_over_is_held_anew_and_sent(
    library: Reply, wait: float, awaits: bool, tmp_path: Path
) -> None:
    lab = Lab("sync", "memory", tmp_path)
    ledger = MemoryLedger()
    leases = list[float]()

    class Looking(Wire):
        def __call__(self, connection: socket.socket) -> None:
            leases.append(ledger.list("acme")[0].lease - self.clock.at)
            super().__call__(connection)

    wire = Looking(lab.clock, wait, lambda: None)
    response = await asked(library, wire, ledger, awaits=awaits)
    assert (response.status_code, wire.requests) == (201, 1)
    assert leases == [30.0]


@every_library
@each_kind
async def test_what_has_ended_while_it_waited_is_not_sent(
    library: Reply, awaits: bool, tmp_path: Path
) -> None:
    lab = Lab("sync", "memory", tmp_path)
    ledger = MemoryLedger()

    def settled() -> None:
        """An operator gives it up meanwhile."""
        (record,) = ledger.list("acme")
        ledger.resolve("acme", about(record).id, "abandon", now=lab.clock.now())

    wire = Wire(lab.clock, 31.0, settled)
    with pytest.raises(Exception, match="given up by an operator"):
        await asked(library, wire, ledger, awaits=awaits)
    assert wire.requests == 0
