"""The conditions, by name: what stands between an agent's call and the wire. One module each."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from retry_guard_sandbox.conditions._caller import Asked, Caller, Condition, Escalation, Setting
from retry_guard_sandbox.conditions._guarded import GuardedCaller

CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "no_guard": partial(GuardedCaller, mode="off"),
        "guard": partial(GuardedCaller, mode="guard"),
    }
)

__all__ = ["CONDITIONS", "Asked", "Caller", "Condition", "Escalation", "Setting"]
