"""A toolbox's tools for the SDK's own tool runner, `client.beta.messages.tool_runner`.

The runner shows a tool its input and nothing else: no call id, no message. It makes text of what
a tool raises and goes on, so a refusal is given to the model here, and kept for the application.
"""

from collections.abc import Callable
from typing import Any

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError

from retry_guard import GuardError, Unresolved, UsageError, unsent
from retry_guard_anthropic._results import content_of
from retry_guard_anthropic._tools import tool_param
from retry_guard_functions import Called, FunctionTool, Rounds, Toolbox, Wanted, unsettled


class RunnerTools:
    """The tools of one turn. Make them anew for each message of the user."""

    def __init__(self, toolbox: Toolbox, *, scope: str, turn: str | None) -> None:
        """Say for whom, and in which turn, the tools act.

        Raises `UsageError` for `twins: count`, because the runner does not show which of two
        equal calls a call is.
        """
        for contract in toolbox.contracts.values():
            if contract.twins == "count":
                why = "the tool runner does not show which of two equal calls a call is"
                raise UsageError(f"{contract.tool}: `twins: count`, but {why}: use run_tools")
        toolbox.check_run(scope=scope, turn=turn, blocking=False)
        self._whose: dict[str, Any] = {"scope": scope, "turn": turn}
        self._toolbox, self._rounds = toolbox, Rounds(toolbox, **self._whose)
        self._calls, self._errors = list[Called](), list[GuardError]()

    @property
    def tools(self) -> list[BetaBuiltinFunctionTool]:
        """Those for the runner of a client that blocks. Raises `UsageError` for async functions."""
        self._toolbox.check_run(**self._whose, blocking=True)
        return [_Tool(tool, self._call) for tool in self._toolbox.tools.values()]

    @property
    def async_tools(self) -> list[BetaAsyncBuiltinFunctionTool]:
        """Those for the runner of an async client."""
        return [_AsyncTool(tool, self._call_awaited) for tool in self._toolbox.tools.values()]

    @property
    def calls(self) -> tuple[Called, ...]:
        """Every call so far, in its order."""
        return tuple(self._calls)

    @property
    def unresolved(self) -> tuple[Unresolved, ...]:
        """What ended without a known outcome, or was refused, and was not settled since."""
        return unsettled(self._calls)

    @property
    def errors(self) -> tuple[GuardError, ...]:
        """Why the guard could not work; the calls were not sent."""
        return tuple(self._errors)

    def _call(self, name: str, arguments: Any) -> Any:
        try:
            made = self._rounds.call([_wanted(name, arguments)])
        except GuardError as error:
            raise self._stopped(name, error) from error
        return self._told(made)

    async def _call_awaited(self, name: str, arguments: Any) -> Any:
        try:
            made = await self._rounds.call_awaited([_wanted(name, arguments)])
        except GuardError as error:
            raise self._stopped(name, error) from error
        return self._told(made)

    def _told(self, made: list[Called]) -> Any:
        """Return a result's content. Raises `ToolError` with what else the model is told."""
        self._calls += made
        answer = made[0].answer
        content: Any = content_of(answer)
        if answer.is_error:
            raise ToolError(content)
        return content

    def _stopped(self, name: str, error: GuardError) -> ToolError:
        self._errors.append(error)
        return ToolError(unsent("guard_failed", name))


def _wanted(name: str, arguments: Any) -> Wanted:
    return Wanted(call_id=None, name=name, arguments=arguments)


class _Tool(BetaBuiltinFunctionTool):
    def __init__(self, tool: FunctionTool, run: Callable[[str, Any], Any]) -> None:
        self._tool, self._run = tool, run

    def to_dict(self) -> Any:
        return tool_param(self._tool)

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name
        return self._run(self._tool.name, input)


class _AsyncTool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, tool: FunctionTool, run: Callable[[str, Any], Any]) -> None:
        self._tool, self._run = tool, run

    def to_dict(self) -> Any:
        return tool_param(self._tool)

    async def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name
        return await self._run(self._tool.name, input)
