"""An MCP server that is another one, but for what a subclass says."""

import copy
from types import TracebackType
from typing import Any, Self

from agents import RunContextWrapper
from agents.agent import AgentBase
from agents.mcp import MCPServer
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult, Tool


class Delegate(MCPServer):
    """Hands on what the SDK asks of a server. Settings are looked up at the real one."""

    def __init__(self, server: MCPServer) -> None:
        """Stand before a server. The base class would give settings of its own."""
        self._server = server
        self._real: Any = server  # some of whose methods have no types

    def __getattr__(self, name: str) -> Any:
        """Return what the real server has."""
        if name in ("_server", "_real"):  # before there is one
            raise AttributeError(name)
        return getattr(self._server, name)

    @property
    def real(self) -> MCPServer:
        """The real server."""
        return self._server

    def before(self, server: MCPServer) -> Self:
        """Return the same before another server."""
        moved = copy.copy(self)
        vars(moved).update(_server=server, _real=server)
        return moved

    @property
    def name(self) -> str:
        """The real server's name."""
        return self._server.name

    @property
    def cached_tools(self) -> list[Tool] | None:
        """The tools that the real server listed last."""
        return self._server.cached_tools

    async def connect(self) -> None:
        """Connect to the real server."""
        await self._real.connect()

    async def cleanup(self) -> None:
        """Leave the real server."""
        await self._real.cleanup()

    async def __aenter__(self) -> Self:
        """Connect to the real server."""
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the real server."""
        await self.cleanup()

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,
        agent: AgentBase[Any] | None = None,
    ) -> list[Tool]:
        """List the real server's tools."""
        return await self._server.list_tools(run_context, agent)

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Call a tool of the real server, as the SDK itself would."""
        return await called(self._server, tool_name, arguments, meta)

    async def list_prompts(self) -> ListPromptsResult:
        """List the real server's prompts."""
        return await self._server.list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        """Return a prompt of the real server."""
        return await self._server.get_prompt(name, arguments)

    async def list_resources(self, cursor: str | None = None) -> Any:
        """List the real server's resources."""
        return await self._server.list_resources(cursor)

    async def list_resource_templates(self, cursor: str | None = None) -> Any:
        """List the real server's resource templates."""
        return await self._server.list_resource_templates(cursor)

    async def read_resource(self, uri: str) -> Any:
        """Read a resource of the real server."""
        return await self._server.read_resource(uri)


async def called(
    server: MCPServer, tool: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None
) -> CallToolResult:
    """Call a tool; servers of an application's own may take no metadata."""
    if meta is None:
        return await server.call_tool(tool, arguments)
    return await server.call_tool(tool, arguments, meta)
