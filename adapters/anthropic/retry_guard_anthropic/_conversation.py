"""One run of the loop, without its input and output: what to ask, what to run, what to keep.

Only a whole message that stopped for its tool calls has them run. Whatever else holds calls was
cut off, refused or came past the last round: its calls get a result that says that they were not
run, so that the history can be carried on with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from retry_guard import Unresolved, UsageError
from retry_guard_anthropic._blocks import Block, Param, block_of, object_of, param_of, sendable
from retry_guard_anthropic._heard import Heard
from retry_guard_anthropic._results import result_of
from retry_guard_anthropic._tools import tools_for
from retry_guard_anthropic._twins import Ids, untwinned, untwinned_history
from retry_guard_functions import ToolAnswer, Toolbox

NOT_RUN = "This call was not run: the message that made it is not whole."
NO_ROUND_LEFT = "This call was not run: the run ended with the message that made it."
_GOES_ON = frozenset({"pause_turn", "compaction"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """How a run ended.

    `messages`: the whole history as data, to carry on with. `message`: the SDK's last message; its
    `stop_reason` is `tool_use` where no round was left for its calls. `unresolved`: what ended
    without a known outcome or was refused, once for each action, as it was told to the model.
    """

    messages: list[Param]
    message: Any
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def text(self) -> str:
        """The text of the last message."""
        return "".join(block.text for block in self.message.content if block.type == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool that the model made."""

    id: str
    name: str
    arguments: Any


class Conversation:
    """The history of a run, and what comes next. `over`: nothing does."""

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        max_rounds: int,
        messages: Any,
        tools: Any,
        create: Mapping[str, Any],
    ) -> None:
        """Begin with a caller's messages. Raises `UsageError` for what cannot be a request."""
        if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
            raise UsageError("run_tools takes messages=[{'role': 'user', 'content': ...}, ...]")
        if type(max_rounds) is not int or max_rounds < 1:
            raise UsageError(f"max_rounds={max_rounds!r}: give a number of at least 1")
        given = [param_of(message) for message in cast("Iterable[object]", messages)]
        self.messages = list(untwinned_history(given))
        self._create = {**create, "tools": tools_for(toolbox, tools)}
        self._ids, self._left = Ids(self.messages), max_rounds
        self._unresolved = dict[str, Unresolved]()
        self._last: Any = None
        self.over = False

    def request(self) -> dict[str, Any]:
        """Return the arguments of the next request to the model."""
        self._left -= 1
        return {**self._create, "messages": list(self.messages)}

    def take(self, message: Any, heard: Heard) -> list[ToolCall]:
        """Keep a message of the model; return the calls to run."""
        self._last = message
        blocks = untwinned(block_of(block) for block in message.content)
        calls, kept = list[ToolCall](), list[Block]()
        for place, block in blocks:
            if block.get("type") != "tool_use":
                kept.append(block)
                continue
            given = heard.arguments(place, block.get("input"))
            own = self._ids.own({**block, "input": object_of(block.get("input"))})
            calls.append(ToolCall(id=own["id"], name=own["name"], arguments=given))
            kept.append(own)
        if kept:
            self.messages.append({"role": "assistant", "content": sendable(kept)})
        return self._to_run(message.stop_reason if heard.whole else None, calls)

    def _to_run(self, stop: str | None, calls: list[ToolCall]) -> list[ToolCall]:
        goes_on = stop in _GOES_ON or (stop == "tool_use" and bool(calls))
        self.over = not goes_on or self._left < 1
        if stop in _GOES_ON or not self.over:
            return [] if stop in _GOES_ON else calls
        text = NO_ROUND_LEFT if stop == "tool_use" else NOT_RUN
        answer = ToolAnswer(text=text, is_error=True)
        self.answered(calls, [answer] * len(calls))
        return []

    def answered(self, calls: Sequence[ToolCall], answers: Sequence[ToolAnswer]) -> None:
        """Keep what the calls of one message gave: all results in one message, in order."""
        pairs = zip(calls, answers, strict=True)
        results = [result_of(call.id, answer) for call, answer in pairs]
        if results:
            self.messages.append({"role": "user", "content": results})
        for answer in answers:
            if isinstance(answer.outcome, Unresolved):
                self._unresolved[answer.outcome.action] = answer.outcome

    def end(self) -> ToolRun:
        """Return how the run ended."""
        return ToolRun(
            messages=self.messages, message=self._last, unresolved=(*self._unresolved.values(),)
        )
