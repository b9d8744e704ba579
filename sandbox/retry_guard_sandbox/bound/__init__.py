"""The bound: the best that any policy could do in the moment of doubt, next to the guard."""

from retry_guard_sandbox.bound._cells import SUBJECTS
from retry_guard_sandbox.bound._compare import Comparison, compare, compare_all
from retry_guard_sandbox.bound._game import SCRIPTS, SHOWN, Cell, Rules, Script, Shown, Tool
from retry_guard_sandbox.bound._propositions import (
    Reissued,
    Tried,
    with_the_same_key,
    without_keys_or_people,
)
from retry_guard_sandbox.bound._schedules import Outcome
from retry_guard_sandbox.bound._value import Value

__all__ = [
    "SCRIPTS",
    "SHOWN",
    "SUBJECTS",
    "Cell",
    "Comparison",
    "Outcome",
    "Reissued",
    "Rules",
    "Script",
    "Shown",
    "Tool",
    "Tried",
    "Value",
    "compare",
    "compare_all",
    "with_the_same_key",
    "without_keys_or_people",
]
