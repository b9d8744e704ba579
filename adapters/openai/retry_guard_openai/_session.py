"""One run: asks, hands the calls of a finished message to the toolbox, and asks again."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from retry_guard import Done, Unresolved
from retry_guard_functions import ToolAnswer, Toolbox
from retry_guard_openai._chat import Chat
from retry_guard_openai._replies import Reply, Wanted, same_json
from retry_guard_openai._responses import Conversation
from retry_guard_openai._runs import Called, End, Run


class Session:
    """A run on its way. `over`: the model is not asked again."""

    def __init__(self, talk: Chat | Conversation, toolbox: Toolbox, max_rounds: int) -> None:
        """Ask nothing yet."""
        self.talk, self._toolbox, self._max = talk, toolbox, max_rounds
        self.over = False
        self._end: End = "max_rounds"
        self._text, self._rounds = "", 0
        self._calls = list[Called]()

    def arguments(self) -> dict[str, Any]:
        """Return what the model is asked with next.

        A `tool_choice` that forces a call counts for the first time only, or no run would end.
        """
        asked = self.talk.arguments()
        if self._rounds and _forces(asked.get("tool_choice")):
            del asked["tool_choice"]
        return asked

    def take(self, reply: Reply) -> list[tuple[Wanted, int]]:
        """Return the calls to run, each with its place among its equals."""
        self._rounds += 1
        self._text = reply.refusal or reply.text
        self.over = not reply.calls or not reply.complete or reply.waits
        if not reply.complete:
            self._end = "incomplete"
            return []
        self.talk.keep()
        if self.over:
            self._end = "handed_over" if reply.waits else "answered"
            self._end = "refused" if reply.refusal and not reply.waits else self._end
        named = [(call.name, call.arguments) for call in reply.calls]
        return list(zip(reply.calls, self._toolbox.ordinals(named), strict=True))

    def put(self, calls: Sequence[tuple[Wanted, int]], answers: Sequence[ToolAnswer]) -> None:
        """Take the answers to these calls."""
        for (call, _), answer in zip(calls, answers, strict=True):
            self.talk.keep_answer(call, answer.text)
            self._calls.append(
                Called(call_id=call.id, name=call.name, arguments=call.arguments, answer=answer)
            )
        self.over = self.over or self._rounds >= self._max

    def run(self) -> Run:
        """Return how it ended."""
        return Run(
            end=self._end,
            text=self._text,
            items=self.talk.items,
            calls=tuple(self._calls),
            unresolved=_unsettled(self._calls),
            rounds=self._rounds,
            previous_response_id=self.talk.previous_response_id,
        )


def _unsettled(calls: Sequence[Called]) -> tuple[Unresolved, ...]:
    """Return the unresolved answers, each action once, that no later equal call settled."""
    found = dict[str, Unresolved]()
    for number, call in enumerate(calls):
        open_end = call.answer.unresolved
        later = calls[number + 1 :]
        if open_end is not None and not any(_settles(each, call) for each in later):
            found[open_end.action] = open_end
    return tuple(found.values())


def _settles(later: Called, call: Called) -> bool:
    done = later.name == call.name and isinstance(later.answer.outcome, Done)
    return done and same_json(later.arguments, call.arguments)


def _forces(choice: Any) -> bool:
    if not isinstance(choice, Mapping):
        return bool(choice == "required")
    return bool(cast("Any", choice).get("type") != "allowed_tools")
