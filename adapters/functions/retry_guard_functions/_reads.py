"""Read-backs through the tools themselves."""

from collections.abc import Mapping
from typing import Any

from retry_guard_contracts import parse_json
from retry_guard_functions._running import run_awaited, run_now
from retry_guard_functions._tools import Fitted


class Reads:
    """Calls a tool, and returns its result as data: text that is JSON as what that says."""

    def __init__(self, tools: Mapping[str, Fitted]) -> None:
        """Read nothing yet."""
        self._tools = tools

    def now(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call it in this thread."""
        one = self._tools[tool]
        return _data(run_now(one, one.shape.bound(arguments)))

    async def awaited(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Await it."""
        one = self._tools[tool]
        return _data(await run_awaited(one, one.shape.bound(arguments)))


def _data(result: Any) -> Any:
    if not isinstance(result, str):
        return result
    try:
        return parse_json(result)
    except ValueError:
        return result
