"""The calls of one model message, in a loop that runs them all and then asks the model again."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retry_guard import ArgumentError, Done, Unresolved, UsageError
from retry_guard_contracts import parse_arguments
from retry_guard_functions._answers import ToolAnswer
from retry_guard_functions._toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One call that a model makes. `arguments`: as it gave them, as text or as an object."""

    call_id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Wanted):
    """One call that a model made, and its answer."""

    answer: ToolAnswer


class Rounds:
    """A toolbox in one turn of one account."""

    def __init__(self, toolbox: Toolbox, *, scope: str, turn: str | None) -> None:
        """Call nothing yet."""
        self._toolbox = toolbox
        self._place: dict[str, Any] = {"scope": scope, "turn": turn}

    def call(self, message: Sequence[Wanted]) -> list[Called]:
        """Carry the calls of a message out, one after the other."""
        return [
            _called(call, self._toolbox.call(**named))
            for call, named in zip(message, self._named(message), strict=True)
        ]

    async def call_awaited(self, message: Sequence[Wanted]) -> list[Called]:
        """Carry them out together. Each comes to its end before an error of one is raised."""
        work = [self._toolbox.call_awaited(**named) for named in self._named(message)]
        ends = await asyncio.gather(*work, return_exceptions=True)
        made = list[Called]()
        for call, end in zip(message, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            made.append(_called(call, end))
        return made

    def _named(self, message: Sequence[Wanted]) -> list[dict[str, Any]]:
        ordinals = self._toolbox.ordinals([(call.name, call.arguments) for call in message])
        return [
            {
                **self._place,
                "name": call.name,
                "arguments": call.arguments,
                "call_id": call.call_id,
                "ordinal": ordinal,
            }
            for call, ordinal in zip(message, ordinals, strict=True)
        ]


def check_run(
    toolbox: Any, *, scope: str, turn: str | None, max_rounds: Any, blocking: bool
) -> None:
    """Raise `UsageError` for a run of a loop that could not work, before a model is asked."""
    if not isinstance(toolbox, Toolbox):
        raise UsageError(f"toolbox: give a Toolbox, not {type(toolbox).__name__}")
    if type(max_rounds) is not int or max_rounds < 1:
        raise UsageError(f"max_rounds: give a whole number from 1, not {max_rounds!r}")
    toolbox.check_run(scope=scope, turn=turn, blocking=blocking)


def _called(call: Wanted, answer: ToolAnswer) -> Called:
    return Called(call_id=call.call_id, name=call.name, arguments=call.arguments, answer=answer)


def unsettled(calls: Sequence[Called]) -> tuple[Unresolved, ...]:
    """Return the unresolved answers, each action once, that no later equal call settled."""
    found = dict[str, Unresolved]()
    for number, call in enumerate(calls):
        end = call.answer.unresolved
        if end is not None and not any(_settles(each, call) for each in calls[number + 1 :]):
            found[end.action] = end
    return tuple(found.values())


def _settles(later: Called, call: Called) -> bool:
    done = later.name == call.name and isinstance(later.answer.outcome, Done)
    return done and _object(later.arguments) == _object(call.arguments)


def _object(arguments: Any) -> Any:
    try:
        return parse_arguments(arguments)
    except ArgumentError:
        return arguments
