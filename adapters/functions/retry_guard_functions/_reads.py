"""Read-backs through the tools themselves."""

from collections.abc import Mapping
from typing import Any

from retry_guard_functions._running import run_awaited, run_now
from retry_guard_functions._tools import Fitted


class Reads:
    """Calls a tool as a guard reads back: its result as it is, which may be the text of JSON."""

    def __init__(self, tools: Mapping[str, Fitted]) -> None:
        """Read nothing yet."""
        self._tools = tools

    def now(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call it in this thread."""
        one = self._tools[tool]
        return run_now(one, one.shape.bound(arguments))

    async def awaited(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Await it."""
        one = self._tools[tool]
        return await run_awaited(one, one.shape.bound(arguments))
