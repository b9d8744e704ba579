"""A function tool, guarded: a copy with another way to be invoked."""

import copy
import json
from typing import Any, assert_never

from agents import FunctionTool, RunContextWrapper
from agents.tool import FunctionToolCustomDataContext, invoke_function_tool
from agents.tool_context import ToolContext

from retry_guard import ArgumentError, Contract, Done, NotExecuted, Outcome, Unresolved
from retry_guard_contracts import parse_arguments
from retry_guard_openai_agents import _failures, _sdk
from retry_guard_openai_agents._desk import Desk
from retry_guard_openai_agents._keys import without_key
from retry_guard_openai_agents._results import stored
from retry_guard_openai_agents._runs import SDK_TEXT, Ran, nothing_ran, own, run, to_its_end, unfit


class GuardedTool:
    """What stands behind one guarded copy."""

    def __init__(self, desk: Desk, contract: Contract, tool: FunctionTool) -> None:
        """Raises `UsageError` for a tool whose errors cannot be seen."""
        self._desk, self._contract, self._tool = desk, contract, tool
        self._once = _failures.raising(tool)
        self._decorated, self._blocks = _sdk.is_decorated(tool), _sdk.blocks(tool)
        shown = without_key(contract, tool.params_json_schema)
        hides = desk.guard.mode == "guard" and shown is not tool.params_json_schema
        self._schema = shown if hides else tool.params_json_schema
        self._hidden = {contract.key.param: ""} if hides and contract.key is not None else {}

    def copied(self) -> FunctionTool:
        """Return the tool to hand to an agent.

        A time-out bounds each send, not the call: what follows it is the guard's to decide.
        """
        tool = copy.copy(self._tool)
        _failures.no_failure_text(tool)
        tool.on_invoke_tool = self.invoke
        tool.params_json_schema = self._schema
        tool.timeout_seconds = None
        tool.custom_data_extractor = self._custom_data
        if self._desk.approvals or not isinstance(tool.needs_approval, bool):
            tool.needs_approval = self._needs_approval
        return tool

    async def invoke(self, context: ToolContext[Any], arguments: str) -> Any:
        """Carry out one call. Raises what the guard and, as before, the tool itself raise."""
        ran: Ran | None = None

        async def send(given: dict[str, Any], _: dict[str, str]) -> Ran:
            nonlocal ran
            ran = Ran(self._contract, lambda value: stored(value, self._tool, context))
            return await self._sent(ran, context, given)

        try:
            given = parse_arguments(arguments)
            outcome = await self._desk.call(self._tool.name, given, send, context, to_body=True)
        except ArgumentError as error:
            return self._said(context, unfit(self._tool.name, error))
        return await self._answer(context, outcome, ran)

    async def _sent(self, ran: Ran, context: ToolContext[Any], given: dict[str, Any]) -> Ran:
        work = invoke_function_tool(
            function_tool=self._once, context=context, arguments=json.dumps(given)
        )
        whole = to_its_end(work) if self._blocks else work
        return await run(ran, whole, decorated=self._decorated)

    async def _answer(self, context: ToolContext[Any], outcome: Outcome, ran: Ran | None) -> Any:
        match outcome:
            case Done(Ran(error=None, value=value)):
                return value
            case Done(Ran(error=Exception() as error)):
                return await _failures.shown(self._tool, context, error)
            case Done(value, warning=warning):
                if ran is not None and own(outcome, ran):
                    return ran.value
                return self._said(context, warning) if value is None and warning else value
            case NotExecuted():
                return await self._failed(context, outcome, ran)
            case Unresolved(text=text):
                return self._said(context, text)
            case _:
                assert_never(outcome)

    async def _failed(
        self, context: ToolContext[Any], outcome: NotExecuted, ran: Ran | None
    ) -> Any:
        """What the tool makes of its error, unless that is the SDK's invitation to repeat."""
        if ran is None or outcome.error is not (ran.value if ran.error is None else ran.error):
            return self._said(context, nothing_ran(outcome, ran))
        if ran.error is None:
            return ran.value
        text = await _failures.shown(self._tool, context, ran.error)
        return self._said(context, nothing_ran(outcome, ran)) if text == SDK_TEXT else text

    def _said(self, context: ToolContext[Any], text: str) -> str:
        _failures.not_a_result(self._tool, context)
        return text

    async def _needs_approval(
        self, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        if await _sdk.wants_approval(self._tool, context, arguments, call_id, self._hidden):
            return True
        return await self._desk.pauses(self._tool.name, arguments, context)

    async def _custom_data(self, given: FunctionToolCustomDataContext) -> dict[str, Any] | None:
        extractor = self._tool.custom_data_extractor
        return await self._desk.notes.custom_data(given.tool_context, extractor, given)
