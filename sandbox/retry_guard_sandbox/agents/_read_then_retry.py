"""The agent that looks first, and repeats a call if it sees nothing."""

from collections.abc import Generator

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
from retry_guard_sandbox.world._http import Json


def read_then_retry(sight: Sight) -> Moves:
    """On an error, read what the tool's description names; if it is not there, call again.

    It believes what it sees at once, as models do: present is done, absent is not done. What is
    there twice it leaves alone, as uncertain.
    """
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    sent, answer = sight.keyed(call), Heard("uncertain")
    for _ in range(TRIES):
        answer = heard((yield sent))
        if answer.status != "uncertain":
            break
        found = yield from _look(sight, call)
        if len(found) == 1:
            return Heard("done", found[0])
        if found:
            break
    return answer


def _look(sight: Sight, call: ToolCall) -> Generator[ToolCall, str, list[Json]]:
    """Return the items that look like the effect, of those that the read shows."""
    look = sight.tools[call.tool].look
    if look is None:
        return []
    given = {name: call.arguments[source] for name, source in look.arguments.items()}
    seen = heard((yield ToolCall(look.tool, given)))
    items: list[Json] = [] if seen.result is None else seen.result[look.items]
    wanted = call.arguments.items()
    return [item for item in items if wanted <= item.items()]
