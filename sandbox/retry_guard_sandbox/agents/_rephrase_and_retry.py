"""The agent that repeats a call in other words."""

from retry_guard_sandbox.agents._moves import (
    TRIES,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    follow,
    until_clear,
)


def rephrase_and_retry(sight: Sight) -> Moves:
    """On an error, make the call again in other words that say the same; the key stays."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    first = sight.keyed(call)
    words = sight.reworded(call.tool, call.arguments) or {}
    again = ToolCall(call.tool, {**first.arguments, **words})
    return until_clear([first, *[again] * (TRIES - 1)])
