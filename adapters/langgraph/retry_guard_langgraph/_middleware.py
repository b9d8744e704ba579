"""The one object that stands around an agent's tools."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from retry_guard import ArgumentError, Contract, Policy, Unresolved, running
from retry_guard_langgraph._answers import (
    not_called,
    not_taken,
    refused,
    settled,
    settled_awaited,
    unresolved,
)
from retry_guard_langgraph._calls import Place, Scope, ToolCall, config_of, ordinal_in, place_of
from retry_guard_langgraph._checks import check, hidden_keys, innermost, named
from retry_guard_langgraph._guards import guards_of
from retry_guard_langgraph._nodes import Nodes
from retry_guard_langgraph._pauses import Pauses
from retry_guard_langgraph._results import End
from retry_guard_langgraph._sends import AsyncHandler, Handler, Paused, Sends
from retry_guard_langgraph._siblings import is_behind, rejection
from retry_guard_ledgers import Ledger
from retry_guard_outcomes import classify as classify_outcome


class GuardMiddleware(AgentMiddleware[Any, Any, Any]):
    """Guards the tools that have contracts, in `create_agent` and in `ToolNode`.

    `create_agent(model, tools, middleware=[…, GuardMiddleware(ledger, contracts, …)])`, or
    `ToolNode(tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call)`.
    Tools without a contract run as before. One object serves `invoke` and `ainvoke`.
    """

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract],
        *,
        tools: Sequence[BaseTool | Callable[..., Any]],
        scope: Scope,
        classify: Callable[[Any], End] = classify_outcome,
        read: Callable[[str, dict[str, Any]], Any] | None = None,
        ask: Callable[[Unresolved], Any] | None = None,
        policy: Policy | None = None,
        mode: Any = "guard",
        secret: bytes | None = None,
        pauses_first: Collection[str] = (),
        messages_key: str = "messages",
    ) -> None:
        """Set up a guard for an agent with these tools.

        `scope`: the account that the tools act for; where several users share a process, a
        function that finds it in the configuration of the run. `classify(value or exception)`
        judges what a tool's function returned or raised. `read`: default, the agent's own tools.
        `ask`, `policy`, `mode`, `secret`: as `retry_guard.Guard` takes them. `pauses_first`:
        tools that call `interrupt()` before they do anything, so that a pause of theirs means
        that nothing ran; a pause of any other tool leaves its outcome unknown. Of several calls
        of these in one message, a `ToolNode` carries out the first; the others are told so.
        Raises `UsageError` for parts that do not fit together.
        """
        super().__init__()
        self._named, self._scope, self._key = named(tools), scope, messages_key
        self._guards = guards_of(
            ledger,
            contracts,
            tools=self._named,
            classify=classify,
            read=read,
            rest={"ask": ask, "policy": policy, "mode": mode, "secret": secret},
        )
        guarded = self._guards.contracts.values()
        check(guarded, self._named, pauses_first, reads=read is None)
        self._pauses, self._pauses_first = Pauses(ledger), frozenset(pauses_first)
        self._hidden = hidden_keys(guarded, self._named)
        nodes = Nodes(self._guards, self._pauses, self._place)
        self.node, self.effect = nodes.node, nodes.effect

    def innermost(self, *others: AgentMiddleware[Any, Any, Any]) -> list[Any]:
        """Return middleware for `create_agent`, with the guard last, so next to the tools.

        Raises `UsageError` for one that calls guarded tools again blindly.
        """
        return [*innermost(others, self._guards.contracts), self]

    def _place(self, config: RunnableConfig, state: object) -> Place:
        return place_of(self._scope, config, state, self._key)

    def _seen(self, request: ToolCallRequest) -> tuple[Place, ToolCall | None]:
        """Return where a call belongs, and the call, if its tool is guarded."""
        place = self._place(config_of(request), request.state)
        contract = self._guards.contracts.get(request.tool_call["name"])
        if contract is None or contract.effect == "read" or request.tool is None:
            return place, None
        ordinal = ordinal_in(contract, request, self._key)
        return place, ToolCall(
            place=place, contract=contract, tool=request.tool, request=request, ordinal=ordinal
        )

    def _answered(self, request: ToolCallRequest) -> ToolMessage | None:
        """Return the answer to a call that is not to be carried out."""
        if is_behind(request, self._pauses_first, self._key):
            return not_called(request)
        hidden = self._hidden.get(request.tool_call["name"])
        if hidden in request.tool_call["args"] and self._guards.awaiting.mode == "guard":
            return not_taken(request, hidden)
        is_guarded = request.tool_call["name"] in self._guards.contracts
        return rejection(request, self._key) if is_guarded else None

    def _sends(self, call: ToolCall) -> Sends:
        hidden = self._hidden.get(call.name)
        return Sends(call, hidden=hidden, pauses_first=call.name in self._pauses_first)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Carry out a tool call of a run that blocks.

        Raises what `retry_guard.Guard.call` raises, what a tool raised that did not run, and what
        LangGraph pauses with.
        """
        if answer := self._answered(request):
            return answer
        place, call = self._seen(request)
        if call is None:
            with running(place.scope, place.turn):
                return handler(request)
        guard = self._guards.blocking()
        self._pauses.collect(place.config, place.scope)
        while True:
            seen, sends = self._pauses.count, self._sends(call)
            try:
                outcome = guard.call(send=sends.blocking(handler), **call.named)
            except ArgumentError as error:
                return refused(call, error)
            except Paused as pause:
                raise pause.bubble from None
            if not isinstance(outcome, Unresolved):
                return settled(call, outcome, sends.ran, handler)
            if not self._pauses.ask(place.config, place.scope, outcome, seen):
                return unresolved(call, outcome)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> Any:
        """Carry out a tool call of a run that is awaited; see `wrap_tool_call`."""
        if answer := self._answered(request):
            return answer
        place, call = self._seen(request)
        if call is None:
            with running(place.scope, place.turn):
                return await handler(request)
        self._pauses.collect(place.config, place.scope)
        while True:
            seen, sends = self._pauses.count, self._sends(call)
            try:
                outcome = await self._guards.awaiting.call(
                    send=sends.awaited(handler), **call.named
                )
            except ArgumentError as error:
                return refused(call, error)
            except Paused as pause:
                raise pause.bubble from None
            if not isinstance(outcome, Unresolved):
                return await settled_awaited(call, outcome, sends.ran, handler)
            if not self._pauses.ask(place.config, place.scope, outcome, seen):
                return unresolved(call, outcome)
