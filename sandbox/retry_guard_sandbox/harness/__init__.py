"""The harnesses, by name: who carries calls to the condition, and what goes wrong in them."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_sandbox.harness._stage import Harness, Line, Stage

HARNESSES: Mapping[str, Harness] = MappingProxyType(
    {harness.name: harness for harness in (Harness("none", Stage.talk),)}
)

__all__ = ["HARNESSES", "Harness", "Line", "Stage"]
