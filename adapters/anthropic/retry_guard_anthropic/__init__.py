"""The retry guard in the Messages API's tool loop and in the SDK's own tool runner."""

from retry_guard import sent_headers
from retry_guard_anthropic._conversation import ToolRun
from retry_guard_anthropic._loop import run_tools
from retry_guard_anthropic._runner import RunnerTools
from retry_guard_anthropic._streams import AsyncToolStream, ToolStream

__all__ = [
    "AsyncToolStream",
    "RunnerTools",
    "ToolRun",
    "ToolStream",
    "run_tools",
    "sent_headers",
]
