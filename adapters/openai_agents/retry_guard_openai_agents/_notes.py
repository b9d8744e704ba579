"""What the application learns of a call beside its result, where neither model nor tool looks.

It is the custom data of the item in the run's result, under `retry_guard`: whether the result is
a replay, and a warning for the user; or what is unresolved, and why.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from agents import RunContextWrapper, ToolCallOutputItem
from agents.util._custom_data import (
    maybe_extract_custom_data,  # pyright: ignore[reportPrivateImportUsage] - reads an extractor of any form
)

from retry_guard import Done, Outcome, Unresolved

NAME = "retry_guard"
_KNOWN = ("action", "reason", "not_before", "text", "tool", "missing")


class Watch:
    """What calls came to while it was open, those of agents as tools and of failed runs too."""

    def __init__(self) -> None:
        """See nothing yet."""
        self._open = True
        self._seen = dict[bytes, Unresolved]()

    @property
    def unresolved(self) -> tuple[Unresolved, ...]:
        """The calls that ended without a known outcome, or were refused: each action once.

        One that a later call settled is left out.
        """
        return tuple(self._seen.values())

    def close(self) -> None:
        """See nothing more."""
        self._open = False

    def see(self, action: bytes, outcome: Outcome) -> None:
        """Note how the last call of an action ended."""
        if not self._open:
            return
        if isinstance(outcome, Unresolved):
            self._seen[action] = outcome
        else:
            self._seen.pop(action, None)


_WATCHES: ContextVar[tuple[tuple["Notes", Watch], ...]] = ContextVar("watches", default=())


class HasItems(Protocol):
    """The result of a run, streamed or not, or what is left of one that failed."""

    @property
    def new_items(self) -> list[Any]:
        """The items that the run made."""
        ...


def unresolved_in(result: HasItems) -> list[Unresolved]:
    """Return the calls of a run that ended without a known outcome, or that were refused.

    One that a later call settled is among them; `AgentGuard.watch` leaves it out.
    """
    items = [item for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    notes: list[Mapping[str, Any]] = [(item.custom_data or {}).get(NAME, {}) for item in items]
    return [_unresolved(note) for note in notes if "action" in note]


class Notes:
    """Holds the notes of calls until the SDK asks for the custom data of their items."""

    def __init__(self) -> None:
        """Hold none."""
        self._held: WeakKeyDictionary[RunContextWrapper[Any], dict[str, Any]] = WeakKeyDictionary()

    def note(self, context: RunContextWrapper[Any] | None, outcome: Outcome) -> None:
        """Note what the application should know of an outcome, if there is anything."""
        if context is None:
            return
        match outcome:
            case Unresolved():
                self._held[context] = {name: getattr(outcome, name) for name in _KNOWN}
            case Done(replayed=replayed, warning=warning) if replayed or warning is not None:
                self._held[context] = {"replayed": replayed, "warning": warning}
            case _:
                pass

    @contextmanager
    def watch(self) -> Generator[Watch]:
        """Watch the calls of what is begun inside."""
        watch = Watch()
        token = _WATCHES.set((*_WATCHES.get(), (self, watch)))
        try:
            yield watch
        finally:
            watch.close()
            _WATCHES.reset(token)

    def see(self, action: bytes, outcome: Outcome) -> None:
        """Tell those who watch here how a call ended."""
        for notes, watch in _WATCHES.get():
            if notes is self:
                watch.see(action, outcome)

    async def custom_data(
        self, context: RunContextWrapper[Any], extractor: Any, given: Any
    ) -> dict[str, Any] | None:
        """Return what the application's own extractor gives, with the note of the call."""
        own = await maybe_extract_custom_data(extractor, given)
        note = self._held.pop(context, None)
        return own if note is None else {**(own or {}), NAME: note}


def _unresolved(note: Mapping[str, Any]) -> Unresolved:
    known: dict[str, Any] = {name: note[name] for name in _KNOWN}
    known["missing"] = tuple(known["missing"])
    return Unresolved(**known)
