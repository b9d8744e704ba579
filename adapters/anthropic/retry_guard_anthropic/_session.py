"""One run, without its input and output: what is asked, what is run, what the history keeps.

Only a whole message that stopped for its calls has them run. What was refused or cut off is not
kept, so that the history never holds a call without its result.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from retry_guard_anthropic._blocks import Block, Param, block_of, object_of
from retry_guard_anthropic._heard import Heard
from retry_guard_anthropic._results import result_of
from retry_guard_anthropic._runs import End, Run
from retry_guard_anthropic._twins import Ids, untwinned
from retry_guard_functions import Called, Toolbox, Wanted, sendable, unsettled

_GOES_ON = frozenset({"pause_turn", "compaction"})
_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})


class Session:
    """A run on its way. `over`: the model is not asked again."""

    def __init__(
        self, toolbox: Toolbox, messages: list[Param], create: Mapping[str, Any], max_rounds: int
    ) -> None:
        """Ask nothing yet. `create`: all of a request but its messages."""
        self._toolbox, self._items, self._create = toolbox, messages, create
        self._max, self._rounds = max_rounds, 0
        self._ids, self._calls = Ids(messages), list[Called]()
        self._message: Any = None
        self._end: End = "max_rounds"
        self.over = False

    def request(self) -> dict[str, Any]:
        """Return what the model is asked with next.

        A `tool_choice` that forces a call counts for the first time only, or no run would end.
        """
        choice: Any = self._create.get("tool_choice")
        asked = {**self._create, "messages": [*self._items]}
        if self._rounds and _forces(choice):
            kept = {name: choice[name] for name in choice if name != "name"}
            asked["tool_choice"] = {**kept, "type": "auto"}
        return asked

    def take(self, message: Any, heard: Heard) -> list[Wanted]:
        """Take a message of the model; return the calls to run."""
        self._rounds += 1
        self._message = message
        blocks, calls = list[Block](), list[Wanted]()
        for place, block in untwinned(block_of(each) for each in message.content):
            if block.get("type") != "tool_use":
                blocks.append(block)
                continue
            own = self._ids.own(sendable({**block, "input": object_of(block.get("input"))}))
            given = heard.arguments(place, block.get("input"))
            blocks.append(own)
            calls.append(Wanted(call_id=own["id"], name=own["name"], arguments=given))
        end = _end_of(message.stop_reason if heard.whole else "max_tokens", calls=bool(calls))
        if end not in ("refused", "incomplete") and blocks:
            self._items.append({"role": "assistant", "content": sendable(blocks)})
        mine = [call for call in calls if not self._is_theirs(call)]
        if end == "max_rounds" and len(mine) < len(calls):
            end = "handed_over"
        self._end, self.over = end, end != "max_rounds"
        runs = message.stop_reason == "tool_use" and end in ("max_rounds", "handed_over")
        return mine if runs else []

    def put(self, called: Sequence[Called]) -> None:
        """Take the answers to the calls of one message: all of them stand in one message."""
        results = [result_of(str(call.call_id), call.answer) for call in called]
        if results:
            self._items.append({"role": "user", "content": results})
        self._calls += called
        self.over = self.over or self._rounds >= self._max

    def run(self) -> Run:
        """Return how it ended."""
        said = self._message.content
        return Run(
            end=self._end,
            text=sendable("".join(block.text for block in said if block.type == "text")),
            items=self._items,
            message=self._message,
            calls=tuple(self._calls),
            unresolved=unsettled(self._calls),
            rounds=self._rounds,
        )

    def _is_theirs(self, call: Wanted) -> bool:
        """Whether only the caller can run it."""
        if call.name in self._toolbox.tools:
            return False
        return any(tool.get("name") == call.name for tool in self._create.get("tools", ()))


def _end_of(stop: str | None, *, calls: bool) -> End:
    """Return how a message ends the run; `max_rounds`: not yet."""
    if stop in _GOES_ON or (stop == "tool_use" and calls):
        return "max_rounds"
    if stop == "refusal":
        return "refused"
    return "incomplete" if calls or stop in _CUT_OFF else "answered"


def _forces(choice: Any) -> bool:
    return isinstance(choice, Mapping) and cast("Any", choice).get("type") in ("any", "tool")
