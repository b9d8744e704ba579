"""The agent that looks first, and repeats a call if it sees nothing."""

from collections.abc import Generator

from retry_guard_sandbox.agents._looking import Found, found, look_for
from retry_guard_sandbox.agents._moves import (
    TRIES,
    Heard,
    Message,
    Moves,
    Pursuit,
    Sight,
    ToolCall,
    alone,
    follow,
)


def read_then_retry(sight: Sight) -> Moves:
    """On an error, read what the tool's description names; if it is not there, call again.

    It believes what it sees at once, as models do: present is done, absent is not done. What is
    there twice, or only in part, it leaves alone, as uncertain.
    """
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    sent, answer = sight.keyed(call), Heard("uncertain")
    for _ in range(TRIES):
        answer = yield from alone(sent)
        if answer.status != "uncertain":
            break
        seen = yield from _look(sight, call)
        if seen.what == "present":
            return Heard("done", seen.result)
        if seen.what == "unclear":
            break
    return answer


def _look(sight: Sight, call: ToolCall) -> Generator[Message, tuple[str, ...], Found]:
    """Read, and return what is there of the call's effect; nothing where there is no read."""
    tool = sight.tools[call.tool]
    look = look_for(tool, call.arguments)
    if look is None:
        return Found("absent")
    seen = yield from alone(look)
    return Found("absent") if seen.result is None else found(tool, call.arguments, seen.result)
