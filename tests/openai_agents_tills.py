"""MCP servers in this process, for agents: one with a till, and some that stand before others."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agents import RunContextWrapper
from agents.mcp import MCPServer
from mcp.types import CallToolResult, Tool

from adapter_suite import World
from retry_guard_openai_agents import AgentGuard

Body = Callable[..., Any]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"},
        "amount": {"type": "integer"},
        "key": {"type": "string"},
    },
    "required": ["customer", "amount", "key"],
}


class Till(MCPServer):
    """A server in this process: its tools are `charge` and `list_charges`."""

    def __init__(self, world: World, name: str = "till", **options: Any) -> None:
        super().__init__(**options)
        self.world, self._name = world, name
        self.metas: list[Any] = []
        self.schema: dict[str, Any] = SCHEMA
        self.body: Body = world.charge

    @property
    def name(self) -> str:
        return self._name

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Tool]:
        empty = {"type": "object", "properties": dict[str, Any]()}
        return [
            Tool.model_validate({"name": name, "inputSchema": schema})
            for name, schema in (("charge", self.schema), ("list_charges", empty))
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: Any = None
    ) -> CallToolResult:
        if tool_name == "list_charges":
            return answer(self.world.list_charges())
        self.metas.append(meta)
        found = self.body(**(arguments or {}))
        return found if isinstance(found, CallToolResult) else answer(found)

    async def list_prompts(self) -> Any:
        return ["prompts"]

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        return [name, arguments]

    async def list_resources(self, cursor: str | None = None) -> Any:
        return ["resources", cursor]

    async def list_resource_templates(self, cursor: str | None = None) -> Any:
        return ["templates", cursor]

    async def read_resource(self, uri: str) -> Any:
        return [uri]


class Empty(Till):
    """A server whose tools need no guard."""

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Tool]:
        return []


class Front(Till):
    """A server of an application's own before another one: it hands on, and counts."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner.world, inner.name)
        self.inner, self.counted = inner, 0

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: Any = None
    ) -> CallToolResult:
        self.counted += 1
        found: CallToolResult = await self.inner.call_tool(tool_name, arguments, meta)
        return found


class Telling(Front):
    """One that tells of the other's settings."""

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


class Resending(Till):
    """A server that sends calls again, as those of the SDK can."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.max_retry_attempts = 2

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: Any = None
    ) -> CallToolResult:
        for _ in range(self.max_retry_attempts):
            with suppress(TimeoutError):
                return await super().call_tool(tool_name, arguments, meta)
        return await super().call_tool(tool_name, arguments, meta)


async def names_shown(agent: Any) -> list[str]:
    """The names of the tools that a model would be shown."""
    return [tool.name for tool in await agent.get_all_tools(RunContextWrapper(None))]


def answer(data: dict[str, Any], *, failed: bool = False) -> CallToolResult:
    text = {"type": "text", "text": str(data)}
    return CallToolResult.model_validate(
        {"content": [text], "structuredContent": data, "isError": failed}
    )


def giving(value: Any) -> Body:
    """Return a function that gives this, whatever it is given."""

    def give(*_: Any, **__: Any) -> Any:
        return value

    return give


def till(world: World, **options: Any) -> Till:
    made = Till(world, **options)
    if not world.keyed:
        properties = {n: s for n, s in SCHEMA["properties"].items() if n != "key"}
        made.schema = {"type": "object", "properties": properties}
    return made


def guarded(*servers: MCPServer, world: World, **options: Any) -> AgentGuard:
    tools = options.pop("tools", None)
    made: dict[str, Any] = {"scope": "acme", "turn": "m1", "policy": world.policy, **options}
    contracts = made.pop("contracts", [world.contract])
    ledger = made.pop("ledger", None) or world.ledger()
    return AgentGuard(ledger, contracts, tools=tools or (), mcp_servers=servers, **made)
