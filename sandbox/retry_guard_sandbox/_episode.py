"""One run: an agent does a task in a world, through an arm; then it is graded."""

from dataclasses import dataclass, fields

from retry_guard_sandbox._conditions import CONDITIONS, Caller
from retry_guard_sandbox._faults import FAULTS, Hits
from retry_guard_sandbox._grading import Grade, grade
from retry_guard_sandbox._http import Json
from retry_guard_sandbox._operators import OPERATORS
from retry_guard_sandbox._rows import Row
from retry_guard_sandbox._streams import Streams
from retry_guard_sandbox._world import World, build
from retry_guard_sandbox.agents import AGENTS, Moves, Sight, ToolCall
from retry_guard_sandbox.tasks import TASKS

BUDGET = 40
"""Calls that an agent may make in one episode."""
THINKING = 2.0
"""Virtual seconds between an answer and the next call."""


class BudgetError(Exception):
    """The agent did not finish within its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What an episode is: equal specs give equal rows, byte for byte."""

    contract: str
    fault: str
    attempts_hit: Hits
    task: str
    agent: str
    condition: str
    seed: int
    operator: str = "fencing"


@dataclass(frozen=True, slots=True)
class Line:
    """One call of an agent and its answer; `at`: when it was there, in seconds since the epoch."""

    call: ToolCall
    answer: str
    at: float


@dataclass(slots=True)
class Conversation:
    """What an agent and its tools said to each other. `claimed`: how it finished, if it did."""

    lines: list[Line]
    claimed: str | None = None

    def hold(self, moves: Moves, caller: Caller, world: World) -> None:
        """Let the agent call until it finishes. Raises `BudgetError` where it goes on for ever."""
        call = next(moves)
        for _ in range(BUDGET):
            if call.tool == "finish":
                self.claimed = str(call.arguments["status"])
                return
            world.clock.sleep(THINKING)
            answer = caller.call(call)
            self.lines.append(Line(call, answer, world.clock.time))
            try:
                call = moves.send(answer)
            except StopIteration:
                return
        raise BudgetError(f"more than {BUDGET} calls")


def run(spec: Spec) -> list[Row]:
    """Run an episode and return a row for each logical write.

    Whatever is raised in it ends it, and is its rows' outcome `error`.
    """
    task = TASKS[spec.task]
    streams = Streams(spec.seed, task.name)
    world = build(task.service, spec.contract, spec.fault, spec.attempts_hit, streams)
    caller = CONDITIONS[spec.condition](world, OPERATORS[spec.operator])
    talk, error = Conversation([]), None
    try:
        talk.hold(AGENTS[spec.agent](_sight(spec, world)), caller, world)
    except Exception as stopped:  # noqa: BLE001 - an episode that breaks is an outcome of its own
        error = type(stopped).__name__
    ended = world.clock.time
    world.clock.settle()
    grades = grade(task, world.effects, world.wire.seen, caller.escalations, ended)
    said: Json = {"claimed": talk.claimed, "error": error}
    if error is not None:
        said["outcome"] = "error"
    return [Row(**{**_named(spec), **_values(graded), **said}) for graded in grades]


def _sight(spec: Spec, world: World) -> Sight:
    made = iter(range(10**6))

    def new_key() -> str:
        return world.streams.token("agent's key", next(made), size=16)

    return Sight(TASKS[spec.task].steps, world.variant.tools, new_key)


def _named(spec: Spec) -> Json:
    service, hidden = TASKS[spec.task].service, FAULTS[spec.fault].hidden
    return {**_values(spec), "service": service, "hidden": hidden, "harness": "none"}


def _values(part: Spec | Grade) -> Json:
    """The fields of a part of a row, by name."""
    return {field.name: getattr(part, field.name) for field in fields(part)}
