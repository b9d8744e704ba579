"""The network between client and services: it carries requests, and has the faults.

Faults act at the boundary, before the service looks at a key: each copy of a request that
arrives meets the key store like any other. They are drawn by tool, logical action and attempt.
Every duration is keyed by the ordinal of the client's request, so none tells what is hidden.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import assert_never

from retry_guard_sandbox.services import TOOLS, Delivery, Service
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._exchange import Exchange
from retry_guard_sandbox.world._faults import FAULTS, Fault, Hits, ReadHits, hits_attempt
from retry_guard_sandbox.world._http import Json, ReadTimeout, Request, Response, refusal
from retry_guard_sandbox.world._streams import Streams

CLIENT_TIMEOUT = 10.0
"""Seconds that the client waits for a response: a first send and four more fit into 60 s."""
LATE = (11.0, 45.0)
"""Seconds after its send at which a late request arrives: after the client's time-out, and
before any in-flight bound that a contract states."""
AGAIN = (1.0, 9.0)
"""Seconds after its send at which a second copy arrives: while the client still waits. One that
came after a look had shown the first could be found out by nobody."""

_PASS = FAULTS["none"]


def logical(tool: str, arguments: Json) -> str:
    """Return the name of a logical action: equal for every attempt, with whatever key."""
    return f"{tool}{json.dumps(arguments, sort_keys=True)}"


class Network:
    """One client's connection to the services, with one fault on every logical write."""

    def __init__(
        self,
        services: Mapping[str, Service],
        clock: VirtualClock,
        streams: Streams,
        fault: Fault = _PASS,
        hits: Hits = "1",
        reads_hit: ReadHits = "0",
    ) -> None:
        """`services`: by tool. `hits`, `reads_hit`: which attempts at each write and read fail."""
        self._services, self._clock, self._streams = services, clock, streams
        self._fault = fault
        self._hits: Hits = hits
        self._reads_hit: ReadHits = reads_hit
        self._sends = 0
        self._attempts: Counter[str] = Counter()
        self._flying: list[Exchange] = []

    @property
    def sends(self) -> int:
        """How many requests the client has sent."""
        return self._sends

    def call(self, request: Request) -> Response:
        """Send a request and wait for its response.

        Raises `ReadTimeout` if none came within `CLIENT_TIMEOUT` seconds.
        """
        exchange = self._begin(request)
        fault = self._fault_of(exchange)
        match fault.shows:
            case "success":
                pass
            case "timeout":
                exchange.answers = False
            case "error":
                exchange.answers = False
                error = refusal(500, "internal_error", "internal server error")
                self._clock.at(exchange.begun + exchange.normal, partial(exchange.show, error))
            case _:
                assert_never(fault.shows)
        for copy, delay in enumerate(self._arrivals(exchange, fault)):
            arrive = partial(self._arrive, exchange, Delivery(exchange.send, copy))
            exchange.events.append(self._clock.at(exchange.begun + delay, arrive))
        self._clock.advance(exchange.begun + CLIENT_TIMEOUT, exchange.is_over)
        if exchange.shown is None:
            raise ReadTimeout(f"no response within {CLIENT_TIMEOUT:g} s")
        return exchange.shown

    def fence(self, tool: str, arguments: Json) -> None:
        """Stop what is in flight or runs for a logical action: it will have no effect."""
        action = logical(tool, arguments)
        for exchange in self._flying:
            if exchange.action == action:
                for event in exchange.events:
                    event.cancelled = True
                self._services[tool].abort(exchange.request)

    def _begin(self, request: Request) -> Exchange:
        self._sends += 1
        send, between = self._sends, self._streams.between
        exchange = Exchange(
            request=request,
            action=logical(request.tool, request.arguments),
            send=send,
            begun=self._clock.time,
            up=between(0.02, 0.2, "up", send),
            running=between(0.02, 0.3, "running", send),
            down=between(0.02, 0.2, "down", send),
        )
        self._flying.append(exchange)
        return exchange

    def _fault_of(self, exchange: Exchange) -> Fault:
        is_read = TOOLS[exchange.request.tool].effect == "read"
        hits = self._reads_hit if is_read else self._hits
        self._attempts[exchange.action] += 1
        return self._fault if hits_attempt(hits, self._attempts[exchange.action]) else _PASS

    def _arrivals(self, exchange: Exchange, fault: Fault) -> tuple[float, ...]:
        """Seconds after the send at which copies of the request arrive."""
        between, send = self._streams.between, exchange.send
        match fault.hidden:
            case "executed":
                return (exchange.up,)
            case "not_executed":
                return ()
            case "late":
                return (between(*LATE, "late", send),)
            case "redelivered":
                return (exchange.up, between(*AGAIN, "again", send))
            case _:
                assert_never(fault.hidden)

    def _arrive(self, exchange: Exchange, delivery: Delivery) -> None:
        service = self._services[exchange.request.tool]
        response = service.receive(exchange.request, self._clock.time)
        if response is not None:
            self._answer(exchange, response)
            return
        finish = partial(self._finish, exchange, delivery)
        exchange.events.append(self._clock.at(self._clock.time + exchange.running, finish))

    def _finish(self, exchange: Exchange, delivery: Delivery) -> None:
        service = self._services[exchange.request.tool]
        self._answer(exchange, service.execute(exchange.request, delivery, self._clock.time))

    def _answer(self, exchange: Exchange, response: Response) -> None:
        if exchange.answers:
            self._clock.at(self._clock.time + exchange.down, partial(exchange.show, response))
