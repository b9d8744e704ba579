"""How whoever has no guard looks for an effect: by the read that the tool's description names."""

from dataclasses import dataclass
from typing import Literal

from retry_guard_sandbox.agents._moves import ToolCall
from retry_guard_sandbox.services import KEY, Tool
from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True)
class Found:
    """What a read shows of one call's effect. `result`: as the tool itself answers.

    `unclear`: it is there more than once, or only in part.
    """

    what: Literal["present", "absent", "unclear"]
    result: Json | None = None


def look_for(tool: Tool, arguments: Json) -> ToolCall | None:
    """Return the call that would show the effect; None where no read does."""
    if tool.look is None:
        return None
    given: Json = {
        name: arguments[source]
        for name, source in tool.look.arguments.items()
        if source in arguments
    }
    return ToolCall(tool.look.tool, given)


def found(tool: Tool, arguments: Json, seen: Json) -> Found:
    """Return what an answer of that read shows, taken as it is: nobody doubts it."""
    name = "data" if tool.look is None else tool.look.items
    plain = {key: value for key, value in arguments.items() if key != KEY}
    parts = tool.found(plain, seen.get(name, []))
    counts = {len(part) for part in parts}
    if counts == {0}:
        return Found("absent")
    if counts != {1}:
        return Found("unclear")
    return Found("present", tool.answer([part[0] for part in parts]))
