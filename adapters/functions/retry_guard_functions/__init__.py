"""Tools that are Python functions, and their guarded calls: what adapters of model APIs share."""

from retry_guard import sent_headers
from retry_guard_functions._answers import ToolAnswer
from retry_guard_functions._rounds import Called, Rounds, Wanted, check_run, unsettled
from retry_guard_functions._toolbox import Toolbox
from retry_guard_functions._tools import FunctionTool

__all__ = [
    "Called",
    "FunctionTool",
    "Rounds",
    "ToolAnswer",
    "Toolbox",
    "Wanted",
    "check_run",
    "sent_headers",
    "unsettled",
]
