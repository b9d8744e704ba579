"""The agent that stops at the first answer that is not clear."""

from retry_guard_sandbox.agents._moves import Moves, Pursuit, Sight, ToolCall, alone, follow


def give_up(sight: Sight) -> Moves:
    """On an error, do nothing more for the whole task, and say that it is uncertain."""
    return follow(sight, _pursue, stops=True)


def _pursue(sight: Sight, call: ToolCall) -> Pursuit:
    return alone(sight.keyed(call))
