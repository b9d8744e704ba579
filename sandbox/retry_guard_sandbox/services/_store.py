"""What a service holds: items that its writes made, each of them an effect, and its state."""

from collections.abc import Mapping, Sequence
from typing import Any

from retry_guard_sandbox.services._execution import OTHERS, Execution
from retry_guard_sandbox.services._facts import Facts
from retry_guard_sandbox.services._tool import Tool
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._streams import Streams


class Store:
    """The items of one service, by the tool that made them, and what its puts have set."""

    def __init__(
        self,
        effects: Effects,
        streams: Streams,
        facts: Facts,
        tools: Mapping[str, Tool],
        earlier: Mapping[str, Sequence[Json]],
    ) -> None:
        """`earlier`: items from before the episode, which are no effects of it."""
        self._effects, self._streams, self._facts, self._tools = effects, streams, facts, tools
        self._made = {name: list(earlier.get(name, ())) for name in tools}
        self._state: dict[tuple[str, ...], Json] = {}

    def make(self, execution: Execution, part: Json, name: str, more: Mapping[str, str]) -> Json:
        """Keep and return a new item: its id, the arguments as they are shown, its time."""
        tool = self._tools[execution.request.tool]
        item: Json = {"id": name, **tool.shows(part), **more, "created": round(execution.now, 6)}
        self._made[tool.name].append(item)
        self._record(execution, part, name, item)
        return item

    def put(self, execution: Execution, *what: str) -> Json:
        """Set and return a state, and record the effect, unless nothing changes by it."""
        arguments, tool = execution.request.arguments, execution.request.tool
        place = (tool, *(str(arguments[name]) for name in what))
        if self._state.get(place) != arguments:
            self._state[place] = arguments
            self._record(execution, arguments, self.name(execution, f"{tool}-"), arguments)
        return arguments

    def name(self, execution: Execution, prefix: str, *place: int) -> str:
        """Return a new id. `place`: which item of a batch it is for."""
        tool, delivery = execution.request.tool, execution.delivery
        ordinals = (delivery.send, delivery.copy, *place)
        return f"{prefix}{self._streams.token('id', tool, *ordinals, size=6)}"

    def state(self, tool: str, *what: str) -> Json:
        """Return what a put set last; nothing if there was none."""
        return self._state.get((tool, *what), {})

    def known(self, tool: str, name: str) -> Json | None:
        """Return what a tool made under this id; None if there is none."""
        return next((item for item in self._made[tool] if item["id"] == name), None)

    def of(self, tool: str, **wanted: Any) -> list[Json]:  # noqa: ANN401 - JSON
        """Return all that a tool made and that has these fields."""
        return [item for item in self._made[tool] if wanted.items() <= item.items()]

    def visible(self, tools: Sequence[str], now: float, **wanted: Any) -> list[Json]:  # noqa: ANN401
        """Return what these tools made and a read can show by now, the oldest first."""
        shown = [
            item
            for tool in tools
            for item in self.of(tool, **wanted)
            if item["created"] <= now - self._facts.lags.get(tool, self._tools[tool].lag)
        ]
        return sorted(shown, key=_created) if len(tools) > 1 else shown

    def _record(self, execution: Execution, part: Json, name: str, item: Json) -> None:
        if execution.delivery.send == OTHERS:
            return
        tool = self._tools[execution.request.tool]
        self._effects.add(
            Effect(
                tool=tool.name,
                arguments=part,
                id=name,
                item=item,
                at=execution.now,
                send=execution.delivery.send,
                batch=tool.batch.items if tool.batch else None,
            )
        )


def _created(item: Json) -> float:
    created: float = item["created"]
    return created
