"""The retry guard in function-calling loops of the OpenAI SDK: Chat Completions and Responses."""

from retry_guard import sent_headers
from retry_guard_functions import Called, FunctionTool, ToolAnswer, Toolbox, calls_before
from retry_guard_openai._loops import run_tools, stream_tools
from retry_guard_openai._runs import Run

__all__ = [
    "Called",
    "FunctionTool",
    "Run",
    "ToolAnswer",
    "Toolbox",
    "calls_before",
    "run_tools",
    "sent_headers",
    "stream_tools",
]
