"""The agent that repeats a call until it gets an answer."""

from itertools import repeat

from retry_guard_sandbox.agents._moves import (
    TRIES,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    follow,
    until_clear,
)


def retry(sight: Sight) -> Moves:
    """On an error, make the same call again; with the same key, where the tool takes one."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    return until_clear(repeat(sight.keyed(call), TRIES))
