"""The calls of one message, through the guard."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retry_guard_anthropic._conversation import ToolCall
from retry_guard_functions import ToolAnswer, Toolbox


@dataclass(frozen=True, slots=True)
class Dispatch:
    """For whom, and in which turn, a run's calls are made."""

    toolbox: Toolbox
    scope: str
    turn: str | None

    def now(self, calls: Sequence[ToolCall]) -> list[ToolAnswer]:
        """Run the calls one after the other."""
        places = self._places(calls)
        return [
            self.toolbox.call(call.name, call.arguments, **place)
            for call, place in zip(calls, places, strict=True)
        ]

    async def awaited(self, calls: Sequence[ToolCall]) -> list[ToolAnswer]:
        """Run the calls together, and wait for all of them, also where one raises."""
        places = self._places(calls)
        ends = await asyncio.gather(
            *(
                self.toolbox.call_awaited(call.name, call.arguments, **place)
                for call, place in zip(calls, places, strict=True)
            ),
            return_exceptions=True,
        )
        answers = list[ToolAnswer]()
        for end in ends:
            if isinstance(end, BaseException):
                raise end
            answers.append(end)
        return answers

    def _places(self, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
        ordinals = self.toolbox.ordinals([(call.name, call.arguments) for call in calls])
        place: dict[str, Any] = {"scope": self.scope, "turn": self.turn}
        return [
            {**place, "call_id": call.id, "ordinal": ordinal}
            for call, ordinal in zip(calls, ordinals, strict=True)
        ]
