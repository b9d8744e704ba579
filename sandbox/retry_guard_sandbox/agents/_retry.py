"""The agent that repeats a call until it gets an answer."""

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


def retry(sight: Sight) -> Moves:
    """On an error, make the same call again; with the same key, where the tool takes one."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    call, answer = sight.keyed(call), Heard("uncertain")
    for _ in range(TRIES):
        answer = heard((yield call))
        if answer.status != "uncertain":
            break
    return answer
