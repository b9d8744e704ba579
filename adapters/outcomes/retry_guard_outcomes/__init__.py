"""What an exception, a response or an exit code proves: done, not executed, or unknown."""

from retry_guard_outcomes._classify import classify, classify_body
from retry_guard_outcomes._ends import Done, NotExecuted, NotExecutedError, Unknown

__all__ = ["Done", "NotExecuted", "NotExecutedError", "Unknown", "classify", "classify_body"]
