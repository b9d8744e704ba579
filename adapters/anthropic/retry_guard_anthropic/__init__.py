"""The retry guard in the Messages API's tool loop and in the SDK's own tool runner."""

from retry_guard import sent_headers
from retry_guard_anthropic._loops import run_tools, stream_tools
from retry_guard_anthropic._runner import RunnerTools
from retry_guard_anthropic._runs import Run
from retry_guard_functions import Called, FunctionTool, ToolAnswer, Toolbox, calls_before

__all__ = [
    "Called",
    "FunctionTool",
    "Run",
    "RunnerTools",
    "ToolAnswer",
    "Toolbox",
    "calls_before",
    "run_tools",
    "sent_headers",
    "stream_tools",
]
