"""The scripted agents, by name. Each is one module: one simple, honest behaviour."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from retry_guard_sandbox.agents._moves import Moves, Sight, Status, ToolCall
from retry_guard_sandbox.agents._new_key import new_key
from retry_guard_sandbox.agents._read_then_retry import read_then_retry
from retry_guard_sandbox.agents._retry import retry

Agent = Callable[[Sight], Moves]

AGENTS: Mapping[str, Agent] = MappingProxyType(
    {agent.__name__: agent for agent in (retry, read_then_retry, new_key)}
)

__all__ = ["AGENTS", "Agent", "Moves", "Sight", "Status", "ToolCall"]
