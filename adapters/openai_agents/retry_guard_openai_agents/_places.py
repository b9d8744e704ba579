"""Whose call it is: scope and turn, from what the application handed to its run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from retry_guard import UsageError, outer_turn

Scope = str | Callable[[Any], str]
"""The account that the tools act for, or how to find it in the context of a run."""

Turn = str | Callable[[Any], str | None] | None
"""The id of the user's message, or how to find it in the context of a run."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call belongs. `turn`: None where the application says none."""

    scope: str
    turn: str | None


class Places:
    """Finds where calls belong; `context` is what was given to `Runner.run(context=...)`."""

    def __init__(self, scope: Scope, turn: Turn) -> None:
        """Raises `UsageError` for what can name nobody."""
        parts: tuple[tuple[str, Any], ...] = (("scope", scope), ("turn", turn))
        for name, given in parts:
            said = callable(given) or (isinstance(given, str) and given)
            if not said and (name, given) != ("turn", None):
                raise UsageError(f"{name}: give text, or a function of the run's context")
        self._scope, self._turn = scope, turn

    def of(self, context: object) -> Place:
        """Return scope and turn: that of an outer call for the same scope, as an agent's, counts.

        Raises `UsageError` if they cannot be found.
        """
        scope = self.scope(context)
        return Place(scope, outer_turn(scope) or _found("turn", self._turn, context))

    def scope(self, context: object) -> str:
        """Return the scope. Raises `UsageError` if it cannot be found."""
        return _found("scope", self._scope, context) or _unsaid("scope", None)


def _found(name: str, given: Any, context: object) -> str | None:
    if not callable(given):
        return cast("str | None", given)
    try:
        found: object = given(context)
    except (LookupError, TypeError, AttributeError) as error:
        msg = f"{name}: the run's context does not say it ({error!r}); nothing sent"
        raise UsageError(msg) from error
    return found if found is None or (isinstance(found, str) and found) else _unsaid(name, found)


def _unsaid(name: str, found: object) -> str:
    raise UsageError(f"{name}: must give text that is not empty, not {found!r}; nothing sent")
