"""One run: asks, hands the calls of a finished message to the toolbox, and asks again."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from retry_guard_functions import Called, Wanted, unsettled
from retry_guard_openai._chat import Chat
from retry_guard_openai._replies import Reply, Shown
from retry_guard_openai._responses import Conversation
from retry_guard_openai._runs import End, Run


class Session:
    """A run on its way. `over`: the model is not asked again."""

    def __init__(self, talk: Chat | Conversation, max_rounds: int) -> None:
        """Ask nothing yet."""
        self.talk, self._max = talk, max_rounds
        self.over = False
        self._end: End = "max_rounds"
        self._text, self._rounds = "", 0
        self._shown, self._calls = list[Shown](), list[Called]()

    def arguments(self) -> dict[str, Any]:
        """Return what the model is asked with next.

        A `tool_choice` that forces a call counts for the first time only, or no run would end.
        """
        asked = self.talk.arguments()
        if self._rounds and "tool_choice" in asked:
            choice = _free(asked.pop("tool_choice"))
            asked |= {} if choice is None else {"tool_choice": choice}
        return asked

    def take(self, reply: Reply) -> list[Wanted]:
        """Return the calls to run."""
        self._rounds += 1
        self._text = reply.refusal or reply.text
        self.over = not reply.calls or not reply.complete or reply.waits
        if not reply.complete:
            self._end, self._shown = "incomplete", []
            return []
        self.talk.keep()
        if self.over:
            self._end = "handed_over" if reply.waits else "answered"
            self._end = "refused" if reply.refusal and not reply.waits else self._end
        self._shown = reply.calls
        return [
            Wanted(call_id=call.id, name=call.name, arguments=call.arguments)
            for call in reply.calls
        ]

    def put(self, called: Sequence[Called]) -> None:
        """Take the answers to the calls."""
        for shown, call in zip(self._shown, called, strict=True):
            self.talk.keep_answer(shown, call.answer.text)
        self._calls += called
        self.over = self.over or self._rounds >= self._max

    def run(self) -> Run:
        """Return how it ended."""
        return Run(
            end=self._end,
            text=self._text,
            items=self.talk.items,
            calls=tuple(self._calls),
            unresolved=unsettled(self._calls),
            rounds=self._rounds,
            previous_response_id=self.talk.previous_response_id,
        )


def _free(choice: Any) -> Any:
    """Return a `tool_choice` that forces no call; None: none is left."""
    if not isinstance(choice, Mapping):
        return None if choice == "required" else choice
    given = cast("Mapping[str, Any]", choice)
    if given.get("type") != "allowed_tools":
        return None
    inner: Any = given.get("allowed_tools")
    if isinstance(inner, Mapping):  # as Chat Completions has it
        return {**given, "allowed_tools": _auto(cast("Any", inner))}
    return _auto(given)


def _auto(allowed: Mapping[str, Any]) -> dict[str, Any]:
    return {**allowed, "mode": "auto"}
