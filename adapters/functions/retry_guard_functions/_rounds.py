"""The calls of one model message, in a loop that runs them all and then asks the model again."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from retry_guard import Done, Unresolved, UsageError
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
    """One call that a model made, and its answer.

    `action`: what names the action that it is; equal calls of one action have one, and where equal
    calls each count (`twins: count`), each has its own. None where no guarded contract is.
    """

    answer: ToolAnswer
    action: bytes | None = field(default=None, repr=False, compare=False)


class Rounds:
    """A toolbox in one turn of one account. `made`: the calls that came to an end so far."""

    def __init__(self, toolbox: Toolbox, *, scope: str, turn: str | None) -> None:
        """Call nothing yet."""
        self._toolbox = toolbox
        self._place: dict[str, Any] = {"scope": scope, "turn": turn}
        self.made = list[Called]()

    def call(self, message: Sequence[Wanted]) -> list[Called]:
        """Carry the calls of a message out, one after the other."""
        made = list[Called]()
        for call, named in zip(message, self._named(message), strict=True):
            made.append(self._called(call, named, self._toolbox.call(**named)))
            self.made.append(made[-1])
        return made

    async def call_awaited(self, message: Sequence[Wanted]) -> list[Called]:
        """Carry them out together. Each comes to its end before an error of one is raised."""
        ended = dict[int, Called]()

        async def carry(number: int, call: Wanted, named: dict[str, Any]) -> None:
            answer = await self._toolbox.call_awaited(**named)
            ended[number] = self._called(call, named, answer)

        pairs = zip(message, self._named(message), strict=True)
        work = [carry(number, *pair) for number, pair in enumerate(pairs)]
        try:
            ends = await asyncio.gather(*work, return_exceptions=True)
        finally:
            made = [ended[number] for number in sorted(ended)]
            self.made += made
        for end in ends:
            if end is not None:
                raise end
        return made

    def _called(self, call: Wanted, named: dict[str, Any], answer: ToolAnswer) -> Called:
        action = self._toolbox.action(call.name, call.arguments, ordinal=named["ordinal"])
        shown: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
        return Called(call_id=call.call_id, **shown, answer=answer, action=action)

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


def unsettled(calls: Sequence[Called]) -> tuple[Unresolved, ...]:
    """Return the unresolved answers, each action once, that no later call of it settled."""
    found = dict[str, Unresolved]()
    for number, call in enumerate(calls):
        end = call.answer.unresolved
        if end is not None and not any(_settles(each, call) for each in calls[number + 1 :]):
            found[end.action] = end
    return tuple(found.values())


def _settles(later: Called, call: Called) -> bool:
    done = isinstance(later.answer.outcome, Done)
    return done and call.action is not None and later.action == call.action


_CALLS = "retry_guard_calls"


@contextmanager
def keeping(rounds: Rounds) -> Generator[None]:
    """Let what ends a loop early carry the calls that were made before; for loops."""
    try:
        yield
    except GeneratorExit:
        raise
    except BaseException as error:
        with suppress(AttributeError, TypeError):  # of a class that takes none
            setattr(error, _CALLS, tuple(rounds.made))
        for each in unsettled(rounds.made):
            error.add_note(f"{each.tool} is unresolved (action {each.action})")
        raise


def calls_before(error: BaseException) -> tuple[Called, ...]:
    """Return the calls that a run had made, in their order, when it raised this error."""
    made: tuple[Called, ...] = getattr(error, _CALLS, ())
    return made
