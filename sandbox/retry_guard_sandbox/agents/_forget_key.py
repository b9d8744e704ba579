"""The agent that uses a key once and then forgets it."""

from retry_guard_sandbox.agents._moves import (
    TRIES,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    follow,
    until_clear,
)


def forget_key(sight: Sight) -> Moves:
    """On an error, make the same call again, but without the key that the first one had."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    return until_clear([sight.keyed(call), *[call] * (TRIES - 1)])
