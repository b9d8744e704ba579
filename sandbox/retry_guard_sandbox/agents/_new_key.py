"""The agent that makes a new key for each try."""

from retry_guard_sandbox.agents._moves import (
    TRIES,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    follow,
    until_clear,
)


def new_key(sight: Sight) -> Moves:
    """On an error, plan the call anew: where the tool takes a key, under a new one."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    return until_clear(sight.keyed(call) for _ in range(TRIES))
