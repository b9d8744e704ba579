"""Calls of every write in the sandbox, and a service that is asked without a network."""

from typing import cast

from retry_guard_sandbox.services import HONEST, SERVICES, TOOLS, Delivery, Facts, Service
from retry_guard_sandbox.tasks import TASKS, Ref
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json, Request, Response
from retry_guard_sandbox.world._streams import Streams

HOME = {tool.name: name for name, service in SERVICES.items() for tool in service.tools}
"""The service of each tool."""

CALLS: dict[str, Json] = {
    step.tool: dict(step.arguments)
    for task in reversed(list(TASKS.values()))
    for step in task.steps
    if TOOLS[step.tool].effect != "read"
    and not any(isinstance(value, Ref) for value in step.arguments.values())
}
"""The arguments of one call of each tool that writes."""
CALLS["mark_read"] = {"mail": "mail-701", "state": "read"}

WRITES = sorted(name for name, tool in TOOLS.items() if tool.effect == "write")
IDEMPOTENT = sorted(name for name, tool in TOOLS.items() if tool.effect == "idempotent")
SHOWN = [name for name in WRITES if TOOLS[name].look is not None]
BATCHES = [name for name in WRITES if TOOLS[name].batch is not None]
SINGLE = [name for name in WRITES if TOOLS[name].batch is None]


class Site:
    """One service, asked directly: no network, no faults."""

    def __init__(self, tool: str, facts: Facts = HONEST) -> None:
        self.effects = Effects()
        self.tool = TOOLS[tool]
        self.service: Service = SERVICES[HOME[tool]](self.effects, Streams(1), facts)
        self.sends = 0

    def ask(self, request: Request, at: float = 0.0, share: float = 1.0) -> Response:
        """Let a request arrive, and run at once."""
        self.sends += 1
        answer = self.service.receive(request, START + at)
        if answer is not None:
            return answer
        return self.service.execute(request, Delivery(self.sends, share=share), START + at)

    def write(self, key: str | None = None, at: float = 0.0, share: float = 1.0) -> Response:
        """Make the call of the tool."""
        return self.ask(Request(self.tool.name, CALLS[self.tool.name], key), at, share)

    def listed(self, at: float = 0.0, arguments: Json | None = None) -> list[Json]:
        """Read all that the tool's look shows."""
        look, arguments = self.tool.look, arguments or CALLS[self.tool.name]
        assert look is not None
        given = {name: arguments[source] for name, source in look.arguments.items()}
        answer = self.ask(Request(look.tool, given), at)
        assert answer.body["has_more"] is False
        items: list[Json] = answer.body[look.items]
        return items

    def shown(self, at: float = 0.0) -> list[int]:
        """Count what the look shows of each part of the tool's call."""
        arguments = CALLS[self.tool.name]
        return [len(found) for found in self.tool.found(arguments, self.listed(at))]

    def made(self) -> list[Effect]:
        """Return the effects of the tool's call."""
        return self.effects.of(self.tool.name, CALLS[self.tool.name])


def changed(value: object) -> object:
    """Return another value of the same type."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}!"
    if isinstance(value, list):
        return cast("list[object]", value)[:-1]
    return {name: changed(part) for name, part in cast("Json", value).items()}
