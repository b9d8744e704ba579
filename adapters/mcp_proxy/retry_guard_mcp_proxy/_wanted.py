"""Input that a server wants before it does anything, and the request that gives it.

What a server knows of such a call stands in the state that it gives with its question. So the
state of one call never goes out with the arguments of another one, whatever else they share.
"""

import json

from retry_guard_contracts import Identity
from retry_guard_mcp_proxy._messages import Message

_STATE = "requestState"
_GIVEN = (_STATE, "inputResponses")
_MOST = 1000
"""States that are remembered, the latest ones."""


def gives_input(params: Message) -> bool:
    """Whether a call gives input that was asked for."""
    return not params.keys().isdisjoint(_GIVEN)


def without_input(params: Message) -> Message:
    """Return the parameters of the call as it would begin."""
    return {name: value for name, value in params.items() if name not in _GIVEN}


def state_of(holder: Message) -> str | None:
    """Return the state in a question, or in what answers it; None: there is none.

    States that are nested too deep to compare are one.
    """
    state = holder.get(_STATE)
    try:
        return None if state is None else json.dumps(state, sort_keys=True)
    except RecursionError:
        return ""


class Wanted:
    """For which call of its tool each state was given."""

    def __init__(self) -> None:
        """None was."""
        self._calls: dict[tuple[str, str], Identity | None] = {}

    def note(self, tool: str, state: str | None, call: Identity | None) -> None:
        """Note that a state was given for a call; one that is given for several tells none."""
        if state is None:
            return
        known = self._calls.pop((tool, state), call)
        self._calls[tool, state] = call if known == call else None
        if len(self._calls) > _MOST:
            del self._calls[next(iter(self._calls))]

    def is_of_another(self, tool: str, state: str | None, call: Identity | None) -> bool:
        """Whether a state is known to be that of a call with other values."""
        known = None if state is None else self._calls.get((tool, state))
        return known is not None and known != call
