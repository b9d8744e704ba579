"""The retry guard for users of Python: `Guard`, `AsyncGuard`, and what they answer."""

from retry_guard._answers import Answer, Unresolved, UnresolvedError, UsageError
from retry_guard._base import Outcome
from retry_guard._checks import check_declared, listed_contracts
from retry_guard._clock import Clock
from retry_guard._going import hold, hold_now, may_go
from retry_guard._guard import AsyncGuard, Guard
from retry_guard._observe import Observation
from retry_guard._ordinals import ordinal_of
from retry_guard._pair import GuardPair, check_tools
from retry_guard._policy import Policy
from retry_guard._questions import Question, question_of, question_put, settle
from retry_guard._sent import running, sent_headers
from retry_guard._texts import explain, unexecuted, unsent
from retry_guard._turns import outer_turn, turn_here
from retry_guard_contracts import ArgumentError, Contract, ContractError, load_contracts
from retry_guard_core import GuardError
from retry_guard_ledgers import LedgerError
from retry_guard_outcomes import Done, NotExecuted, NotExecutedError, Unknown

__all__ = [
    "Answer",
    "ArgumentError",
    "AsyncGuard",
    "Clock",
    "Contract",
    "ContractError",
    "Done",
    "Guard",
    "GuardError",
    "GuardPair",
    "LedgerError",
    "NotExecuted",
    "NotExecutedError",
    "Observation",
    "Outcome",
    "Policy",
    "Question",
    "Unknown",
    "Unresolved",
    "UnresolvedError",
    "UsageError",
    "check_declared",
    "check_tools",
    "explain",
    "hold",
    "hold_now",
    "listed_contracts",
    "load_contracts",
    "may_go",
    "ordinal_of",
    "outer_turn",
    "question_of",
    "question_put",
    "running",
    "sent_headers",
    "settle",
    "turn_here",
    "unexecuted",
    "unsent",
]
