"""One run: an agent does a task in a world, through a harness and an arm; then it is graded."""

from dataclasses import dataclass, fields
from functools import lru_cache

from retry_guard_sandbox.agents import AGENTS, Agent, Sight
from retry_guard_sandbox.conditions import CONDITIONS, Setting, leave_to_a_person
from retry_guard_sandbox.grading._grading import Grade, grade
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.harness import HARNESSES, Stage
from retry_guard_sandbox.tasks import TASKS, Task
from retry_guard_sandbox.world._faults import FAULTS, Hits, ReadHits
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import OPERATORS
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import World, build


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What an episode is: equal specs give equal rows, byte for byte.

    `reads_hit`: how many of the attempts at each read the fault hits, as `attempts_hit` says
    for writes. `stored_500`: the service remembers the error that it answered under a key.
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
    stored_500: bool = False


def run(spec: Spec, agent: Agent | None = None) -> list[Row]:
    """Run an episode and return a row for each logical write.

    `agent`: who acts, where that is none of the scripted agents. Whatever is raised in the
    episode ends it, and is its rows' outcome `error`.
    """
    harness = HARNESSES[spec.harness]
    world = world_of(spec)
    setting, condition = Setting(world, OPERATORS[spec.operator]), CONDITIONS[spec.condition]
    sight = condition.shown(_sight(spec, world))
    actor = agent or AGENTS[spec.agent]
    stage = Stage(setting, condition, actor, sight, TASKS[spec.task], spec.seed)
    error = None
    try:
        harness(stage)
    except Exception as stopped:  # noqa: BLE001 - an episode that breaks is an outcome of its own
        error = type(stopped).__name__
    return rows_of(spec, setting, claimed=stage.claimed, error=error, task=stage.task)


def rows_of(
    spec: Spec,
    setting: Setting,
    *,
    claimed: str | None,
    error: str | None,
    task: Task | None = None,
) -> list[Row]:
    """End an episode, whoever carried it out, and return a row for each logical write.

    `task`: what the user wanted in the end, where that is more than the task of the spec.
    """
    world = setting.world
    ended = world.clock.time
    world.clock.settle()
    if claimed == "uncertain":
        leave_to_a_person(setting)
    course = (world.effects, world.wire.seen, setting.escalations)
    grades = grade(task or TASKS[spec.task], *course, ended=ended)
    said: Json = {"claimed": claimed, "error": error}
    if error is not None:
        said["outcome"] = "error"
    named = _named(spec)
    return [Row(**{**named, **_values(graded, _GRADED), **said}) for graded in grades]


def world_of(spec: Spec) -> World:
    """Build the world of an episode."""
    task = TASKS[spec.task]
    streams = _streams(spec.seed, task.name)
    return build(
        task.service,
        spec.contract,
        spec.fault,
        streams,
        hits=spec.attempts_hit,
        reads_hit=spec.reads_hit,
        stored_500=spec.stored_500,
    )


def _sight(spec: Spec, world: World) -> Sight:
    made = iter(range(10**6))

    def new_key() -> str:
        return world.streams.token("agent's key", next(made), size=16)

    task = TASKS[spec.task]
    return Sight(
        task.steps, world.variant.tools, new_key, prompt=task.prompt, reworded=task.reworded
    )


def _named(spec: Spec) -> Json:
    service, hidden = TASKS[spec.task].service, FAULTS[spec.fault].hidden
    return {**_values(spec, _SPECIFIED), "service": service, "hidden": hidden}


def _values(part: Spec | Grade, names: tuple[str, ...]) -> Json:
    """The fields of a part of a row, by name."""
    return {name: getattr(part, name) for name in names}


_SPECIFIED = tuple(field.name for field in fields(Spec))
_GRADED = tuple(field.name for field in fields(Grade))
_streams = lru_cache(maxsize=64)(Streams)
