"""One send of a guarded call: what came of it, and what that proves."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agents import ModelBehaviorError, UserError, default_tool_error_function

from retry_guard import ArgumentError, Contract, Done, NotExecuted, Unknown, unexecuted

End = Done | NotExecuted | Unknown
UNKNOWN = object()
"""The result of a send that has given none."""

SDK_TEXT = default_tool_error_function(None, Exception())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - it looks at neither
"""What a model is told of a failed tool, where nobody says otherwise: it invites a repeat."""

_HARNESS = frozenset({"agents", "asyncio", "concurrent", "contextlib", "functools", "threading"})
_NOT_SENT = frozenset({"call_tool", "_validate_required_parameters"})


class ToolCancelledError(Exception):
    """A tool ended with a cancellation that nobody had asked for."""


class ToolFailedError(Exception):
    """A tool had its error made into the SDK's text before the guard could see it."""


@dataclass(slots=True)
class Ran:
    """How one send ended. `keep` makes the stored form of its result, `kept`.

    `refused`: the SDK itself raised the error, before it called the tool or its server.
    """

    contract: Contract
    keep: Callable[[Any], Any]
    value: Any = UNKNOWN
    error: Exception | None = None
    kept: Any = UNKNOWN
    refused: bool = False


async def run(ran: Ran, work: Awaitable[Any], *, decorated: bool) -> Ran:
    """Await one send and note how it ended; it passes on only what cancels the call itself.

    `decorated`: the SDK reads the tool's arguments before it calls its function.
    """
    try:
        ran.value = await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        ran.error = ToolCancelledError(str(error) or "the tool was cancelled")
    except Exception as error:  # noqa: BLE001 - every exception is a fact to be judged
        ran.refused = _is_refusal(error, decorated=decorated)
        ran.error = _without_harness(error)
    if isinstance(ran.value, str) and ran.value == SDK_TEXT:
        ran.error = ToolFailedError(ran.value)
    return ran


async def to_its_end(work: Awaitable[Any]) -> Any:
    """Await what runs in a thread, since nothing can stop it there.

    A cancellation meanwhile is put off until then: the attempt lasts as long as the thread.
    """
    thread, task, put_off = asyncio.ensure_future(work), asyncio.current_task(), False
    while not thread.done():
        try:
            await asyncio.wait({thread})
        except asyncio.CancelledError:
            if task is None:
                raise
            task.uncancel()
            put_off = True
    if put_off and task is not None:
        task.cancel()
    return thread.result()


def judge(ran: Any, classify: Callable[[Any], End]) -> End:
    """Return what a send proves, with its result in the form that is stored."""
    if not isinstance(ran, Ran):
        return classify(ran)
    if ran.refused:
        return NotExecuted(ran.error)
    fact = ran.value if ran.error is None else ran.error
    end = classify(fact)
    if isinstance(end, Done):
        ran.kept = ran.keep(end.value)
        return Done(ran.kept)
    return NotExecuted(fact) if ran.contract.proves_nothing_ran(fact) else end


def own(outcome: Done, ran: Ran | None) -> bool:
    """Whether a call's result is what its own last send gave."""
    return ran is not None and outcome.value is ran.kept


def nothing_ran(outcome: NotExecuted, ran: Ran | None) -> str:
    """Return the sentence for a call that did nothing.

    What the SDK itself says of arguments is for the model.
    """
    is_for_model = ran is not None and ran.refused
    return unexecuted(str(outcome.error) if is_for_model else outcome.error)


def unfit(tool: str, error: ArgumentError) -> str:
    """Return the sentence for arguments that nothing was sent with; some errors name no tool."""
    text = str(error) if tool in str(error) else f"{tool}: {error}"
    return text if "nothing was sent" in text else f"{text}; nothing was sent"


def _without_harness(error: Exception) -> Exception:
    """The error, without the frames in which the SDK calls the tool.

    It does so once, so they hide no earlier send; but they are those of an installed package.
    """
    trace: Any = error.__traceback__
    while trace is not None and _root(trace) in _HARNESS:
        trace = trace.tb_next
    return error.with_traceback(trace)


def _is_refusal(error: Exception, *, decorated: bool) -> bool:
    """Whether the SDK raised it in place of a call: no other code had run."""
    trace: Any = error.__traceback__
    last = ""
    while trace is not None:
        if _root(trace) not in _HARNESS:
            return False
        trace, last = trace.tb_next, trace.tb_frame.f_code.co_name
    if isinstance(error, ModelBehaviorError):
        return decorated
    return isinstance(error, UserError) and last in _NOT_SENT


def _root(trace: Any) -> str:
    name = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return "agents" if name == "retry_guard_openai_agents" else name
