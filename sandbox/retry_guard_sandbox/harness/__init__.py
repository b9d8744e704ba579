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
from retry_guard_sandbox.harness._surroundings import outage

Harness = Callable[[Stage], None]


def none(stage: Stage) -> None:
    """Nothing goes wrong in the harness."""
    stage.talk()


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
        )
    }
)

__all__ = ["HARNESSES", "Harness", "Said", "Stage"]
