"""Clients that do as they are told, for tests of what the sandbox lets a client see."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import CONDITIONS, Asked, Setting
from retry_guard_sandbox.services import KEY, SERVICES, TOOLS
from retry_guard_sandbox.tasks import TASKS, Ref, Step, Task
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._faults import Hits, ReadHits
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import fencing
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import build

HOME = {tool.name: name for name, service in SERVICES.items() for tool in service.tools}
WRITES = sorted(tool.name for tool in TOOLS.values() if tool.effect != "read")
LITTLE: dict[str, Json] = {"refund": {"amount": 100}}
"""Arguments that are changed, so that a service accepts a call many times."""


@cache
def _call_of(tool: str) -> tuple[Step, Json]:
    """Return a call of the tool in a task, one that needs no earlier step if there is one."""
    calls = [(task, n) for task in TASKS.values() for n in range(len(task.steps))]
    named = [(task, n) for task, n in calls if task.steps[n].tool == tool]
    named.sort(key=lambda call: any(isinstance(v, Ref) for v in _step(call).arguments.values()))
    if not named:
        raise AssertionError(f"no task calls {tool}: write one")
    task, last = named[0]
    world, results = build(task.service, "native", "none", Streams(0, "test")), list[Json | None]()
    for step in task.steps[:last]:
        arguments = step.filled(results)
        assert arguments is not None
        results.append(world.wire.call(step.tool, arguments))
    arguments = task.steps[last].filled(results)
    assert arguments is not None
    return task.steps[last], arguments


def _step(call: tuple[Task, int]) -> Step:
    task, number = call
    return task.steps[number]


def arguments_of(tool: str) -> Json:
    """Return what a task calls the tool with."""
    return _call_of(tool)[1] | LITTLE.get(tool, {})


def twin_of(tool: str) -> Json | None:
    """Return the arguments of another action of the tool, which looks alike; None: it has none."""
    twin = _call_of(tool)[0].twin
    return {**arguments_of(tool), **twin} if twin else None


def reworded(tool: str) -> Json:
    """Return the same arguments in other words; as they are, if there are none."""
    return {**arguments_of(tool), **_call_of(tool)[0].reworded}


def look_at(tool: str, arguments: Json) -> ToolCall | None:
    """Return the read that shows such a write, if there is one."""
    look = TOOLS[tool].look
    if look is None:
        return None
    return ToolCall(look.tool, {name: arguments[source] for name, source in look.arguments.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a client is: what it will write, and what befalls it."""

    tool: str
    fault: str
    hits: Hits = "1"
    reads_hit: ReadHits = "0"
    contract: str = "native"
    seed: int = 0
    stored_500: bool = False


class Told(NamedTuple):
    """One line of a transcript: what came back, and when; None where no time is shown."""

    text: str
    at: float | None


class Client(Protocol):
    """Somebody who calls tools, whatever carries the calls."""

    def call(self, call: ToolCall) -> Told:
        """Call a tool; return the text of the answer."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass; a client that cannot does nothing."""
        ...


Enter = Callable[[Place], Client]


class FunctionCaller:
    """A client that calls tools as functions, in the arm without a guard."""

    def __init__(self, place: Place) -> None:
        """Build the world anew."""
        streams = Streams(place.seed, "test")
        self.place = place
        self.world = build(
            HOME[place.tool],
            place.contract,
            place.fault,
            streams,
            hits=place.hits,
            reads_hit=place.reads_hit,
            stored_500=place.stored_500,
        )
        self._caller = CONDITIONS["no_guard"](Setting(self.world, fencing))

    def call(self, call: ToolCall) -> Told:
        """Call a tool."""
        return Told(self._caller.call(Asked(call, "turn-1", "call_1")), self.world.clock.time)

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.world.clock.sleep(seconds)

    def send(self, key: str | None = None) -> Told:
        """Send the write of this place."""
        keyed = {} if key is None else {KEY: key}
        return self.call(ToolCall(self.place.tool, arguments_of(self.place.tool) | keyed))

    def look(self) -> Told | None:
        """Look at it, if there is a way to."""
        call = look_at(self.place.tool, arguments_of(self.place.tool))
        return None if call is None else self.call(call)

    def effects(self) -> list[Effect]:
        """Return what has happened once all that is due has."""
        self.world.clock.settle()
        return self.world.effects.of(self.place.tool, arguments_of(self.place.tool))
