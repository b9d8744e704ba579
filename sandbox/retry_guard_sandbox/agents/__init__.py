"""The scripted agents, by name. Each is one module: one simple, honest behaviour."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from retry_guard_sandbox.agents._double_emit import double_emit
from retry_guard_sandbox.agents._escalate import escalate
from retry_guard_sandbox.agents._forget_key import forget_key
from retry_guard_sandbox.agents._give_up import give_up
from retry_guard_sandbox.agents._looking import Found, found, look_for
from retry_guard_sandbox.agents._moves import Moves, Sight, Status, ToolCall, heard
from retry_guard_sandbox.agents._new_key import new_key
from retry_guard_sandbox.agents._read_then_retry import read_then_retry
from retry_guard_sandbox.agents._rephrase_and_retry import rephrase_and_retry
from retry_guard_sandbox.agents._retry import retry

Agent = Callable[[Sight], Moves]

AGENTS: Mapping[str, Agent] = MappingProxyType(
    {
        agent.__name__: agent
        for agent in (
            retry,
            rephrase_and_retry,
            forget_key,
            new_key,
            read_then_retry,
            double_emit,
            give_up,
            escalate,
        )
    }
)

__all__ = [
    "AGENTS",
    "Agent",
    "Found",
    "Moves",
    "Sight",
    "Status",
    "ToolCall",
    "found",
    "heard",
    "look_for",
]
