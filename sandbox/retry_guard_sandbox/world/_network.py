"""The network between client and services: it carries requests, and has the faults.

Faults act at the boundary, before the service looks at a key: each copy of a request that
arrives meets the key store like any other.
"""

from collections import defaultdict
from collections.abc import Mapping

from retry_guard_sandbox.services import OTHERS, Delivery, Service, Tool
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._exchange import Exchange
from retry_guard_sandbox.world._fates import FateOf
from retry_guard_sandbox.world._http import Json, ReadTimeout, Request, Response

CLIENT_TIMEOUT = 10.0
"""Seconds that the client waits for a response: a first send and four more fit into 60 s."""


class Network:
    """One client's connection to a service."""

    def __init__(
        self, service: Service, tools: Mapping[str, Tool], clock: VirtualClock, fate_of: FateOf
    ) -> None:
        """`tools`: those of the service, by name. `fate_of`: what becomes of each attempt."""
        self._service, self._tools, self._clock, self._fate_of = service, tools, clock, fate_of
        self._sends = 0
        self._actions: defaultdict[str, list[_Action]] = defaultdict(list)

    @property
    def sends(self) -> int:
        """How many requests the client has sent."""
        return self._sends

    def call(self, request: Request) -> Response:
        """Send a request and wait for its response.

        Raises `ReadTimeout` if none came within `CLIENT_TIMEOUT` seconds, and `ReadError` where
        the connection broke before.
        """
        self._sends += 1
        tool, action = self._tools[request.tool], self._action(request.tool, request.arguments)
        fate = self._fate_of(tool, action.number, len(action.attempts) + 1)
        exchange = Exchange(request, self._sends, fate, self._service, self._clock)
        action.attempts.append(exchange)
        self._clock.advance(exchange.begun + CLIENT_TIMEOUT, exchange.is_over)
        match exchange.end:
            case None:
                raise ReadTimeout(f"no response within {CLIENT_TIMEOUT:g} s")
            case Response():
                return exchange.end
            case error:
                raise error

    def others(self, request: Request) -> None:
        """Have another client's request executed now, which is no effect of this one."""
        self._service.execute(request, Delivery(OTHERS), self._clock.time)

    def fence(self, tool: str, arguments: Json) -> None:
        """Stop what is in flight or runs for a logical action: it will have no effect."""
        for exchange in self._action(tool, arguments).attempts:
            exchange.fence()

    def _action(self, tool: str, arguments: Json) -> "_Action":
        """Return the logical action, whatever its spelling; a new one gets the next number."""
        known = self._actions[tool]
        for action in known:
            if action.arguments == arguments:
                return action
        name = self._tools[tool].action(arguments)
        for action in known:
            if action.name == name:
                return action
        known.append(_Action(name, arguments, len(known) + 1))
        return known[-1]


class _Action:
    """What the client wants of a tool: equal for every attempt at it, with whatever key."""

    __slots__ = ("arguments", "attempts", "name", "number")

    def __init__(self, name: str, arguments: Json, number: int) -> None:
        self.name, self.arguments, self.number = name, arguments, number
        self.attempts: list[Exchange] = []
