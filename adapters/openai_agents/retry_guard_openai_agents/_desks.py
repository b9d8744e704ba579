"""Which desk an approval belongs to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents import ToolApprovalItem

from retry_guard_openai_agents._desk import Desk
from retry_guard_openai_agents._sdk import names_server_tool


@dataclass(frozen=True, slots=True)
class Desks:
    """The desk for function tools, whose names are `own`, and those for servers, by their names."""

    local: Desk
    own: Collection[str]
    remote: Sequence[tuple[str, Desk]]

    def of(self, item: ToolApprovalItem) -> tuple[Desk | None, str]:
        """Return the desk of a guarded tool, and the name that the tool has there."""
        name = str(item.name)
        if name in self.own:
            return (self.local if self.local.contract(name) else None), name
        for server, desk in self.remote:
            for tool in desk.guard.contracts:
                if desk.contract(tool) and names_server_tool(item, server, tool):
                    return desk, tool
        return None, name
