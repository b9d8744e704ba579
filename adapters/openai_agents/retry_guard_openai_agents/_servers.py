"""An MCP server, guarded: agents use it in the place of the real one."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, assert_never

from agents import RunContextWrapper
from agents.agent import AgentBase
from agents.mcp import MCPServer, MCPToolCustomDataContext, MCPToolMetaContext
from agents.tool import ToolErrorFunction
from mcp.types import CallToolResult, Tool

from retry_guard import (
    ArgumentError,
    Done,
    NotExecuted,
    Outcome,
    Unresolved,
)
from retry_guard_openai_agents._callers import announce, announced, calling
from retry_guard_openai_agents._delegates import Delegate, called
from retry_guard_openai_agents._desk import Desk
from retry_guard_openai_agents._failures import for_the_model
from retry_guard_openai_agents._listings import Listings, shown_tool
from retry_guard_openai_agents._once import sending_once
from retry_guard_openai_agents._results import answer_of, error_of, stored_answer
from retry_guard_openai_agents._runs import Ran, nothing_ran, own, run, unfit

Approval = bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]


class GuardedServer(Delegate):
    """Guards the tools that have contracts; the others go to the real server as before."""

    def __init__(self, server: MCPServer, desk: Desk, listings: Listings, place: int) -> None:
        """Stand before a server. `place`: which of the agent's servers it is."""
        super().__init__(server)
        self._desk, self._listings, self._place = desk, listings, place
        self._hides = desk.guard.mode == "guard"

    def guards(self, tool: str) -> bool:
        """Whether calls of this tool are guarded here, or at a server behind this one."""
        behind = self._server
        within = isinstance(behind, GuardedServer) and behind.guards(tool)
        return within or self._desk.contract(tool) is not None

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,
        agent: AgentBase[Any] | None = None,
    ) -> list[Tool]:
        """List the tools, without the parameters for keys. Raises `UsageError` for misfits."""
        tools = await self._server.list_tools(run_context, agent)
        whole = getattr(self._server, "tool_filter", None) is None
        self._listings.check(self._place, tools, whole=whole)
        if not self._hides:
            return tools
        if any(self.guards(tool.name) for tool in tools):
            sending_once(self._server)
        contracts = self._desk.guard.contracts
        return [
            shown_tool(contracts[tool.name], tool) if tool.name in contracts else tool
            for tool in tools
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Carry out a call. Raises what the guard raises, each before anything is sent."""
        contract = self._desk.contract(tool_name)
        context = announced()
        if contract is None:
            with calling(context):
                return await called(self._server, tool_name, arguments, meta)
        once = sending_once(self._server) if self._hides else self._server
        ran: Ran | None = None

        async def send(given: dict[str, Any], extra: dict[str, str]) -> Ran:
            nonlocal ran
            ran = Ran(contract, stored_answer)
            named = {name.partition(":")[2]: key for name, key in extra.items()}
            sent = {**(meta or {}), **named} or None
            return await run(ran, called(once, tool_name, given, sent), decorated=False)

        try:
            outcome = await self._desk.call(
                tool_name, arguments or {}, send, context, to_body=False
            )
        except ArgumentError as error:
            return error_of(unfit(tool_name, error))
        return _answer(outcome, ran)

    # The SDK finds these three by name; a call of a tool itself tells no server who makes it.

    async def tool_meta_resolver(self, given: MCPToolMetaContext) -> dict[str, Any] | None:
        """Note who calls, and return the metadata that the application gives."""
        resolver = getattr(self._server, "tool_meta_resolver", None)
        found: Any = None if resolver is None else resolver(given)
        meta: dict[str, Any] | None = await found if inspect.isawaitable(found) else found
        announce(given.run_context)
        return meta

    async def custom_data_extractor(self, given: MCPToolCustomDataContext) -> dict[str, Any] | None:
        """Return what the application's extractor gives, with the note of the call."""
        extractor = getattr(self._server, "custom_data_extractor", None)
        return await self._desk.notes.custom_data(given.run_context, extractor, given)

    def _get_needs_approval_for_tool(self, tool: Tool, agent: AgentBase[Any] | None) -> Approval:
        policy: Approval = self._server._get_needs_approval_for_tool(tool, agent)  # noqa: SLF001 - the SDK's seam
        if not self._desk.approvals or self._desk.contract(tool.name) is None:
            return policy

        async def needs(
            context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
        ) -> bool:
            wanted = policy if isinstance(policy, bool) else policy(context, arguments, call_id)
            if wanted is True or (not isinstance(wanted, bool) and await wanted):
                return True
            return await self._desk.pauses(tool.name, arguments, context)

        return needs

    def _get_failure_error_function(
        self, agent_failure_error_function: ToolErrorFunction | None
    ) -> ToolErrorFunction | None:
        given = self._server._get_failure_error_function(agent_failure_error_function)  # noqa: SLF001 - the SDK's seam
        return None if given is None else for_the_model(given)


def _answer(outcome: Outcome, ran: Ran | None) -> CallToolResult:
    """The guard's answer, as the server would give it."""
    match outcome:
        case Done(Ran(error=Exception() as error)):
            raise error
        case Done(Ran(value=value)):
            return answer_of(value)
        case Done(value, warning=warning):
            if ran is not None and own(outcome, ran):
                return answer_of(ran.value)
            return answer_of(warning if value is None and warning else value)
        case NotExecuted(error):
            if ran is not None and ran.error is None and error is ran.value:
                return answer_of(ran.value)
            return error_of(nothing_ran(outcome, ran))
        case Unresolved(text=text):
            return error_of(text)
        case _:
            assert_never(outcome)
