"""The agent that makes a new key for each try."""

from retry_guard_sandbox.agents._moves import (
    TRIES,
    Heard,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    follow,
    heard,
)


def new_key(sight: Sight) -> Moves:
    """On an error, plan the call anew: where the tool takes a key, under a new one."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    answer = Heard("uncertain")
    for _ in range(TRIES):
        answer = heard((yield sight.keyed(call)))
        if answer.status != "uncertain":
            break
    return answer
