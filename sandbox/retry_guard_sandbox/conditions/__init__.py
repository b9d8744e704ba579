"""The conditions, by name: what stands between an agent's call and the wire. One module each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from retry_guard_sandbox.conditions._always_escalate import always_escalate
from retry_guard_sandbox.conditions._argument_hash import argument_hash
from retry_guard_sandbox.conditions._caller import Asked, Caller, Doubt, Escalation, Setting
from retry_guard_sandbox.conditions._condition import Condition
from retry_guard_sandbox.conditions._guard_advises import guard_advises
from retry_guard_sandbox.conditions._guarded import GuardedCaller, Way
from retry_guard_sandbox.conditions._hidden_key import without_keys
from retry_guard_sandbox.conditions._left import leave_to_a_person
from retry_guard_sandbox.conditions._never_retry import never_retry
from retry_guard_sandbox.conditions._one_use_token import one_use_token
from retry_guard_sandbox.conditions._prompts import CAREFUL, KEYS, PROMISES
from retry_guard_sandbox.conditions._sdk_retry import sdk_retry
from retry_guard_sandbox.conditions._waits import reading_after


def _beneath(way: Way, *done_by: str) -> Condition:
    """Return an arm without the guard."""
    return Condition(start=partial(GuardedCaller, way=way), done_by=frozenset(done_by))


def _told(suffix: str, start: Callable[[Setting], Caller] = GuardedCaller) -> Condition:
    """Return an arm in which a model is told something more."""
    return Condition(start=start, suffix=suffix, models_only=True)


_GUARD = partial(GuardedCaller, mode="guard")

CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "no_guard": Condition(start=GuardedCaller),
        "guard": Condition(start=_GUARD),
        "guard_hidden_key": Condition(start=_GUARD, tools=without_keys),
        "sdk_retry": _beneath(sdk_retry, "retry"),
        "never_retry": _beneath(never_retry, "give_up", "escalate"),
        "always_escalate": _beneath(always_escalate),
        "read_now": _beneath(reading_after(0.0), "read_then_retry"),
        "wait_60": _beneath(reading_after(60.0)),
        "wait_300": _beneath(reading_after(300.0)),
        "wait_3600": _beneath(reading_after(3600.0)),
        "argument_hash": _beneath(argument_hash),
        "one_use_token": _beneath(one_use_token),
        "guard_advises": replace(_beneath(guard_advises), models_only=True),
        "careful_prompt": _told(CAREFUL),
        "prompt_for_keys": _told(KEYS),
        "guard_promises": _told(PROMISES, start=_GUARD),
    }
)


def leaves_out(condition: str, agent: str) -> bool:
    """Whether a grid leaves the agent out of the arm: it already does what the condition does.

    What changes only how a model reads its prompt leaves out every scripted agent.
    """
    return CONDITIONS[condition].leaves_out(agent)


__all__ = [
    "CONDITIONS",
    "Asked",
    "Caller",
    "Condition",
    "Doubt",
    "Escalation",
    "GuardedCaller",
    "Setting",
    "Way",
    "leave_to_a_person",
    "leaves_out",
]
