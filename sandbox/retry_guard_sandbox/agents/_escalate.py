"""The agent that leaves whatever is not clear to a person."""

from retry_guard_sandbox.agents._moves import Moves, Pursuit, Sight, ToolCall, alone, follow


def escalate(sight: Sight) -> Moves:
    """On an error, leave this call to a person, go on with the rest, and say it at the end.

    Finishing as uncertain is how an agent hands over: there is no tool for it.
    """
    return follow(sight, _pursue)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    return alone(sight.keyed(call))
