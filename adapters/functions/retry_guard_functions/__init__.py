"""Tools that are Python functions, and their guarded calls: what adapters of model APIs share."""

from retry_guard import sent_headers
from retry_guard_functions._answers import ToolAnswer, as_stored
from retry_guard_functions._rounds import (
    Called,
    Rounds,
    Wanted,
    calls_before,
    check_run,
    keeping,
    unsettled,
)
from retry_guard_functions._toolbox import Toolbox
from retry_guard_functions._tools import FunctionTool
from retry_guard_functions._unicode import joined, sendable

__all__ = [
    "Called",
    "FunctionTool",
    "Rounds",
    "ToolAnswer",
    "Toolbox",
    "Wanted",
    "as_stored",
    "calls_before",
    "check_run",
    "joined",
    "keeping",
    "sendable",
    "sent_headers",
    "unsettled",
]
