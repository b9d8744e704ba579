"""Read-backs through the agent's own tools."""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool


class Reads:
    """Calls a tool as the harness would, and returns its result as data."""

    def __init__(self, tools: Mapping[str, BaseTool]) -> None:
        """Read nothing yet."""
        self._tools = tools

    def now(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call it in this thread."""
        return _data(self._tools[tool].invoke(arguments))

    async def awaited(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Await it."""
        return _data(await self._tools[tool].ainvoke(arguments))


def _data(result: object) -> object:
    """A tool's result; where it is the text of JSON, as tools often return it, what that says."""
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result
