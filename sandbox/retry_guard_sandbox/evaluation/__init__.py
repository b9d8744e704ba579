"""Somebody's own agent scaffold in the sandbox: a check before a change is merged."""

from retry_guard_sandbox.evaluation._assess import (
    Assessment,
    Failure,
    Thresholds,
    assess,
)
from retry_guard_sandbox.evaluation._counts import Counts, counted
from retry_guard_sandbox.evaluation._episodes import Episode, Episodes
from retry_guard_sandbox.evaluation._functions import function
from retry_guard_sandbox.evaluation._here import Evaluation, EvaluationFailed, evaluate
from retry_guard_sandbox.evaluation._names import name_of, plan_of
from retry_guard_sandbox.evaluation._plan import CHOICES, FRAME, Plan, episode
from retry_guard_sandbox.evaluation._running import Launch, Visit, command
from retry_guard_sandbox.evaluation._target import Scaffold, TargetError, Tool
from retry_guard_sandbox.serving import NOBODY

__all__ = [
    "CHOICES",
    "FRAME",
    "NOBODY",
    "Assessment",
    "Counts",
    "Episode",
    "Episodes",
    "Evaluation",
    "EvaluationFailed",
    "Failure",
    "Launch",
    "Plan",
    "Scaffold",
    "TargetError",
    "Thresholds",
    "Tool",
    "Visit",
    "assess",
    "command",
    "counted",
    "episode",
    "evaluate",
    "function",
    "name_of",
    "plan_of",
]
