"""The harnesses, by name: who carries calls to the condition, and what goes wrong in them.

`none` carries each call once. Every other one is a function of the `Stage` that it plays on.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from retry_guard_sandbox.harness._crashes import (
    crash_resume,
    deliberate_repeat,
    suspended_holder,
    user_retry,
)
from retry_guard_sandbox.harness._paraphrase import paraphrase
from retry_guard_sandbox.harness._repeats import double_emission, transport_replay
from retry_guard_sandbox.harness._stage import Said, Stage
from retry_guard_sandbox.harness._surroundings import another_writer, is_exclusive, outage
from retry_guard_sandbox.tasks import Task
from retry_guard_sandbox.world._variants import Variant

Harness = Callable[[Stage], None]


def none(stage: Stage) -> None:
    """Nothing goes wrong in the harness."""
    stage.talk()


def applies(harness: str, task: Task, variant: Variant) -> bool:
    """Whether an episode of the task says something about the harness.

    Twins that each count are no mistake of a harness. Where a contract says that nobody else
    writes there, nobody does.
    """
    tools = [step.tool for step in task.steps]
    match harness:
        case "double_emission":
            return all(variant.contracts[tool].twins == "join" for tool in tools)
        case "another_writer":
            return not all(is_exclusive(variant, tool) for tool in tools)
        case _:
            return True


HARNESSES: Mapping[str, Harness] = MappingProxyType(
    {
        harness.__name__: harness
        for harness in (
            none,
            crash_resume,
            double_emission,
            paraphrase,
            user_retry,
            deliberate_repeat,
            transport_replay,
            suspended_holder,
            outage,
            another_writer,
        )
    }
)

__all__ = ["HARNESSES", "Harness", "Said", "Stage", "applies"]
