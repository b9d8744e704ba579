"""What all services have in common: validation, keys, and effects that are really recorded."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from retry_guard_sandbox.services._execution import Delivery, Execution, Handler
from retry_guard_sandbox.services._facts import HONEST, Facts
from retry_guard_sandbox.services._keys import Keys
from retry_guard_sandbox.services._store import Store
from retry_guard_sandbox.services._tool import Tool
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json, Request, Response, refusal
from retry_guard_sandbox.world._streams import Streams


class Service(ABC):
    """A service with its state. A new one is empty but for what its class puts in.

    A request is first received, which may answer it at once; else it runs for a while and is
    then executed. Both happen at the service, out of the client's sight. `earlier`: items from
    before the episode, by the tool that makes such.
    """

    name: ClassVar[str]
    tools: ClassVar[tuple[Tool, ...]]
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {}

    def __init__(self, effects: Effects, streams: Streams, facts: Facts = HONEST) -> None:
        """`effects`: where executions are recorded. `streams`: where names come from."""
        self._facts, self._keys = facts, Keys(facts)
        self._named = {tool.name: tool for tool in self.tools}
        self._handlers = self.handlers()
        self._store = Store(effects, streams, facts, self._named, self.earlier)

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
        batch = self._named[request.tool].batch
        stored = batch is not None and batch.key == "stored_partial"
        self._keys.settle(request, response, stores=stored)
        return response

    def abort(self, request: Request) -> None:
        """Stop a request that was received and runs; it will have no effect."""
        self._keys.release(request)

    def fail(self, request: Request, error: Response, now: float) -> None:
        """Note that a request is answered with this error, whether it was executed or not."""
        self._keys.fail(request, error, now)

    def bound(self, tool: str) -> float | None:
        """Seconds after its send in which a request executes or never will; None: no limit."""
        return self._facts.bounds.get(tool, self._named[tool].bound)

    def make(self, execution: Execution, prefix: str, **more: str) -> Response:
        """Let a write take effect; answer with the new item."""
        name = self._store.name(execution, prefix)
        return Response(201, self._store.make(execution, execution.request.arguments, name, more))

    def make_each(self, execution: Execution, prefix: str, **more: str) -> Response:
        """Let a batch take effect item by item; answer with the ids, or that it stopped."""
        request, store = execution.request, self._store
        parts, made = self._named[request.tool].parts(request.arguments), self._keys.made(request)
        missing = parts[len(made) :]
        for place, part in enumerate(missing[: execution.delivery.of(len(missing))], len(made)):
            made.append(store.make(execution, part, store.name(execution, prefix, place), more))
        if len(made) < len(parts):
            message = f"the batch stopped after {len(made)} of {len(parts)} items"
            return refusal(500, "batch_stopped", message)
        return Response(201, {"ids": [item["id"] for item in made]})

    def put(self, execution: Execution, *what: str) -> Response:
        """Let an idempotent write take effect; `what`: the parameters that say on what."""
        return Response(200, self._store.put(execution, *what))

    def listing(self, now: float, *tools: str, **wanted: Any) -> Response:  # noqa: ANN401 - JSON
        """Return the complete list of what these tools made and a read can show by now."""
        return Response(200, {"data": self._store.visible(tools, now, **wanted), "has_more": False})
