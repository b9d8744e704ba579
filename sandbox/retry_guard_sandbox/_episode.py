"""One run: an agent does a task in a world, through a harness and an arm; then it is graded."""

from dataclasses import dataclass, fields

from retry_guard_sandbox.agents import AGENTS, Sight
from retry_guard_sandbox.conditions import CONDITIONS, Setting
from retry_guard_sandbox.grading._grading import Grade, grade
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.harness import HARNESSES, Stage
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._faults import FAULTS, Hits, ReadHits
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import OPERATORS
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import World, build


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What an episode is: equal specs give equal rows, byte for byte.

    `reads_hit`: how many of the attempts at each read the fault hits, as `attempts_hit` says
    for writes.
    """

    contract: str
    fault: str
    attempts_hit: Hits
    task: str
    agent: str
    condition: str
    seed: int
    reads_hit: ReadHits = "0"
    harness: str = "none"
    operator: str = "fencing"


def run(spec: Spec) -> list[Row]:
    """Run an episode and return a row for each logical write.

    Whatever is raised in it ends it, and is its rows' outcome `error`.
    """
    task, harness = TASKS[spec.task], HARNESSES[spec.harness]
    world = _world(spec)
    setting, sight = Setting(world, OPERATORS[spec.operator]), _sight(spec, world)
    stage = Stage(setting, CONDITIONS[spec.condition], lambda: AGENTS[spec.agent](sight))
    error = None
    try:
        harness.play(stage)
    except Exception as stopped:  # noqa: BLE001 - an episode that breaks is an outcome of its own
        error = type(stopped).__name__
    ended = world.clock.time
    world.clock.settle()
    course = (world.effects, world.wire.seen, setting.escalations)
    grades = grade(task, *course, ended=ended, times=harness.times)
    said: Json = {"claimed": stage.claimed, "error": error}
    if error is not None:
        said["outcome"] = "error"
    return [Row(**{**_named(spec), **_values(graded), **said}) for graded in grades]


def _world(spec: Spec) -> World:
    task = TASKS[spec.task]
    streams = Streams(spec.seed, task.name)
    return build(
        task.service,
        spec.contract,
        spec.fault,
        streams,
        hits=spec.attempts_hit,
        reads_hit=spec.reads_hit,
    )


def _sight(spec: Spec, world: World) -> Sight:
    made = iter(range(10**6))

    def new_key() -> str:
        return world.streams.token("agent's key", next(made), size=16)

    return Sight(TASKS[spec.task].steps, world.variant.tools, new_key)


def _named(spec: Spec) -> Json:
    service, hidden = TASKS[spec.task].service, FAULTS[spec.fault].hidden
    return {**_values(spec), "service": service, "hidden": hidden}


def _values(part: Spec | Grade) -> Json:
    """The fields of a part of a row, by name."""
    return {field.name: getattr(part, field.name) for field in fields(part)}
