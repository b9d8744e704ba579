"""For whom, and in which turn, the code that runs here acts."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from retry_guard._answers import UsageError


@dataclass(slots=True)
class _Place:
    """One `with guard.turn(...)`. Once it is left, it counts for nobody.

    Tasks and threads that began inside keep the context in which they began, as long as they run.
    """

    scope: str
    turn: str | None
    outer: "_Place | None"
    open: bool = True

    def close(self) -> None:
        self.open, self.outer = False, None


_HERE: ContextVar[_Place | None] = ContextVar("retry_guard_turn", default=None)


@contextmanager
def turn(scope: str, turn: str | None = None) -> Generator[None]:
    """Say for whom, and in which turn, the guarded functions called inside act.

    It counts until it is left, also for a task or thread that was begun inside and runs on.
    """
    place = _Place(scope, turn, _here())
    token = _HERE.set(place)
    try:
        yield
    finally:
        place.close()
        _HERE.reset(token)


def _here() -> _Place | None:
    place = _HERE.get()
    return place if place is not None and place.open else None


def turn_here() -> tuple[str, str | None] | None:
    """Return scope and turn of the innermost `with guard.turn(...)`; None outside of any.

    Where the innermost one is over, as in a task that outlives it, those around it do not count.
    """
    place = _here()
    return None if place is None else (place.scope, place.turn)


def outer_turn(scope: str) -> str | None:
    """Return the turn in which an outer call for this scope is under way here; for adapters.

    It counts in place of a call's own turn: a sub-agent acts in the turn of its root. None: there
    is no such call, or it knows of no turn. Calls for other scopes do not count.
    """
    place = _here()
    while place is not None and place.open:
        if place.scope == scope:
            return place.turn
        place = place.outer
    return None


def current_turn(tool: str, *, needed: bool) -> tuple[str, str | None]:
    """Return scope and turn; outside of `with guard.turn(...)` none, or an error if `needed`."""
    here = turn_here()
    if here is None and not needed:
        return "", None
    if here is None:
        msg = (
            f"{tool} was called outside a turn, or after its end: "
            "use `with guard.turn(scope, turn):`; nothing was sent"
        )
        raise UsageError(msg)
    return here
