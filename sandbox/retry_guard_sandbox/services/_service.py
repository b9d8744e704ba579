"""What all services have in common: validation, keys, and effects that are really recorded."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from retry_guard_sandbox.services._keys import Keys
from retry_guard_sandbox.services._tool import Tool
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json, Request, Response, refusal
from retry_guard_sandbox.world._streams import Streams

RETENTION = 86_400.0
"""Seconds for which a service remembers a key."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One arrival of a request: `send` says which request of the client, `copy` which delivery."""

    send: int
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a request: what arrived, as which delivery, and the present moment."""

    request: Request
    delivery: Delivery
    now: float


Handler = Callable[[Execution], Response]


class Service(ABC):
    """A service with its state. A new one is empty but for what its class puts in.

    A request is first received, which may answer it at once; else it runs for a while and is
    then executed. Both happen at the service, out of the client's sight.
    """

    name: ClassVar[str]
    tools: ClassVar[tuple[Tool, ...]]

    def __init__(self, effects: Effects, streams: Streams) -> None:
        """`effects`: where executions are recorded. `streams`: where names come from."""
        self._effects, self._streams = effects, streams
        self._keys = Keys(RETENTION)
        self._named = {tool.name: tool for tool in self.tools}
        self._handlers = self.handlers()

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""

    def receive(self, request: Request, now: float) -> Response | None:
        """Return an immediate answer: a refusal or a stored response. None: it runs now."""
        wrong = self._named[request.tool].fault_in(request.arguments)
        if wrong is not None:
            return refusal(400, "invalid_request", f"check the parameter {wrong}", param=wrong)
        return self._keys.admit(request, now)

    def execute(self, request: Request, delivery: Delivery, now: float) -> Response:
        """Carry it out."""
        response = self._handlers[request.tool](Execution(request, delivery, now))
        self._keys.settle(request, response)
        return response

    def abort(self, request: Request) -> None:
        """Stop a request that was received and runs; it will have no effect."""
        self._keys.release(request)

    def commit(self, execution: Execution, prefix: str, **more: str) -> Json:
        """Record an effect; return the new item: its name, the arguments, when it was made."""
        request, delivery = execution.request, execution.delivery
        token = self._streams.token("id", request.tool, delivery.send, delivery.copy, size=6)
        item: Json = {"id": f"{prefix}{token}", **request.arguments, **more}
        item["created"] = round(execution.now, 6)
        effect = Effect(
            tool=request.tool,
            arguments=request.arguments,
            id=item["id"],
            item=item,
            at=execution.now,
            send=delivery.send,
        )
        self._effects.add(effect)
        return item


def listing(items: list[Json]) -> Response:
    """Return a complete list as a response."""
    return Response(200, {"data": list(items), "has_more": False})
