"""What the tools of MCP servers must have: seen when they are listed, since not before."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from mcp.types import Tool

from retry_guard import Contract, UsageError
from retry_guard_openai_agents._keys import check_key, without_key


class Listings:
    """The names that each server has listed, held against the contracts."""

    def __init__(
        self, contracts: Sequence[Contract], own: Collection[str], servers: int, *, reads: bool
    ) -> None:
        """`own`: the function tools. `reads`: read-backs go another way than through a server."""
        self._contracts, self._own, self._reads = contracts, own, reads
        self._seen: list[Collection[str] | None] = [None] * servers

    def check(self, place: int, tools: Sequence[Tool], *, whole: bool) -> None:
        """Raise `UsageError` for tools that do not fit. `whole`: no filter hides some of them."""
        found = {tool.name: tool for tool in tools}
        self._seen[place] = found.keys() if whole else None
        for contract in self._contracts:
            if contract.tool in found:
                self._alone(contract.tool, place)
                check_key(contract, schema_of(found[contract.tool]))
                self._readable(contract, found, whole=whole)
                self._previewed(contract, found, whole=whole)
        self._complete()

    def _alone(self, tool: str, place: int) -> None:
        others = [names for at, names in enumerate(self._seen) if at != place and names]
        if tool in self._own or any(tool in names for names in others):
            msg = f"two tools are named {tool!r}: a contract names one, so rename the other"
            raise UsageError(msg)

    def _readable(self, contract: Contract, found: Mapping[str, Tool], *, whole: bool) -> None:
        reader = contract.read_back.tool if contract.read_back is not None else None
        if reader is not None and whole and not self._reads and reader not in found:
            msg = f"{contract.tool} is read back by {reader!r}, which its server lacks: give read="
            raise UsageError(msg)

    def _previewed(self, contract: Contract, found: Mapping[str, Tool], *, whole: bool) -> None:
        preview = contract.confirm.preview if contract.confirm is not None else None
        if preview is not None and whole and preview not in found:
            raise UsageError(f"{contract.tool} is previewed by {preview!r}, which its server lacks")

    def _complete(self) -> None:
        if None in self._seen:
            return
        known = {*self._own, *(name for names in self._seen for name in names or ())}
        for contract in self._contracts:
            if contract.tool not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise UsageError(
                    f"a contract is for {contract.tool!r}, but the tools are: {listed}"
                )


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the schema of a tool's arguments, in either generation of the MCP SDK."""
    return cast("dict[str, Any]", getattr(tool, _schema_name(tool)))


def shown_tool(contract: Contract, tool: Tool) -> Tool:
    """Return a tool as a model is to see it."""
    return tool.model_copy(update={_schema_name(tool): without_key(contract, schema_of(tool))})


def _schema_name(tool: Tool) -> str:
    return "input_schema" if hasattr(tool, "input_schema") else "inputSchema"
