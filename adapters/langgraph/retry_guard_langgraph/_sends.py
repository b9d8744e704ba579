"""One send of a guarded call: through the harness, with a tool that tells what it did."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from retry_guard import running
from retry_guard_langgraph._calls import ToolCall
from retry_guard_langgraph._probe import Ran, Shown, probed

Handler = Callable[[ToolCallRequest], Shown]
AsyncHandler = Callable[[ToolCallRequest], Awaitable[Shown]]


class Paused(BaseException):
    """What LangGraph ends a task with, on its way through the guard: no fact about the tool."""

    def __init__(self, bubble: GraphBubbleUp) -> None:
        """Keep what is raised again outside of the guard."""
        super().__init__()
        self.bubble = bubble


class Sends:
    """The sends of one guarded call. `ran`: how the last one went; None before the first.

    `pauses_first`: a pause of this tool means that nothing ran.
    """

    def __init__(self, call: ToolCall, *, hidden: str | None, pauses_first: bool) -> None:
        """Send nothing yet. `hidden`: the parameter for the key that the model does not see."""
        self._call, self._hidden, self._pauses_first = call, hidden, pauses_first
        self.ran: Ran | None = None

    def blocking(self, handler: Handler) -> Callable[..., Ran]:
        """Return the send of a guard that blocks."""

        def send(arguments: dict[str, Any], extra: dict[str, str]) -> Ran:
            ran, request = self._next(arguments)
            try:
                with self._running(extra):
                    ran.shown = handler(request)
            except GraphBubbleUp as pause:
                self._paused(ran, pause)
            except Exception as error:  # noqa: BLE001 - every exception is a fact to be judged
                ran.raised = error
            return ran

        return send

    def awaited(self, handler: AsyncHandler) -> Callable[..., Awaitable[Ran]]:
        """Return the send of a guard that awaits."""

        async def send(arguments: dict[str, Any], extra: dict[str, str]) -> Ran:
            ran, request = self._next(arguments)
            try:
                with self._running(extra):
                    ran.shown = await handler(request)
            except GraphBubbleUp as pause:
                self._paused(ran, pause)
            except asyncio.CancelledError as error:
                if not (ran.reached and ran.bar()):
                    raise
                ran.raised = error  # nothing ran: it is raised again once that is recorded
            except Exception as error:  # noqa: BLE001 - every exception is a fact to be judged
                ran.raised = error
            return ran

        return send

    def _running(self, extra: dict[str, str]) -> Any:
        return running(self._call.place.scope, self._call.place.turn, extra)

    def _next(self, arguments: dict[str, Any]) -> tuple[Ran, ToolCallRequest]:
        call = self._call
        self.ran = ran = Ran(call.contract, call.id)
        # The harness takes what is hidden from the model out of the arguments.
        more = {self._hidden: arguments[self._hidden]} if self._hidden in arguments else {}
        tool_call: Any = {**call.request.tool_call, "args": arguments}
        return ran, call.request.override(tool=probed(call.tool, ran, more), tool_call=tool_call)

    def _paused(self, ran: Ran, pause: GraphBubbleUp) -> None:
        if not self._pauses_first:
            raise Paused(pause) from None
        ran.raised, ran.paused = pause, True
