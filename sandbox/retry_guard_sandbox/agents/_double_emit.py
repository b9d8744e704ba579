"""The agent that emits each write twice."""

from retry_guard_sandbox.agents._moves import (
    Heard,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    alone,
    follow,
    heard,
)


def double_emit(sight: Sight) -> Moves:
    """Put each write into its message twice, and repeat nothing; one result is enough for it."""
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    if sight.is_read(call):
        return (yield from alone(call))
    sent = sight.keyed(call)
    answers = yield (sent, sent)
    return min(map(heard, answers), key=_clarity)


def _clarity(answer: Heard) -> int:
    return ("done", "uncertain", "failed").index(answer.status)
