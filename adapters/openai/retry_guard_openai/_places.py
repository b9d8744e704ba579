"""Whose calls they are, and the tools that they go to."""

import asyncio
from collections.abc import Sequence
from typing import Any

from retry_guard_functions import ToolAnswer, Toolbox
from retry_guard_openai._replies import Wanted

Calls = Sequence[tuple[Wanted, int]]


class Place:
    """The scope and turn of a run, with its toolbox."""

    def __init__(self, toolbox: Toolbox, scope: str, turn: str | None) -> None:
        """Call nothing yet."""
        self._toolbox = toolbox
        self._place: dict[str, Any] = {"scope": scope, "turn": turn}

    def call(self, calls: Calls) -> list[ToolAnswer]:
        """Carry the calls of a message out, one after the other."""
        return [
            self._toolbox.call(c.name, c.arguments, **self._place, call_id=c.id, ordinal=n)
            for c, n in calls
        ]

    async def call_awaited(self, calls: Calls) -> list[ToolAnswer]:
        """Carry them out together. Each comes to its end before an error of one is raised."""
        work = [
            self._toolbox.call_awaited(c.name, c.arguments, **self._place, call_id=c.id, ordinal=n)
            for c, n in calls
        ]
        ended = await asyncio.gather(*work, return_exceptions=True)
        answers = list[ToolAnswer]()
        for each in ended:
            if isinstance(each, BaseException):
                raise each
            answers.append(each)
        return answers
