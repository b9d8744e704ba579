"""The operator's policy: what the core decides by, and how long a holder may be silent."""

from dataclasses import dataclass, fields
from math import isfinite

from retry_guard._answers import UsageError
from retry_guard_core import Policy as CorePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(CorePolicy):
    """How far a call may go; see `retry_guard_core.Policy` for the fields that decisions read.

    `lease`: seconds that a holder may be silent before its call is investigated by the next.
    `max_attempt`: seconds in one call after which its lease is renewed no more.
    Raises `UsageError` for a value that is negative or not finite.
    """

    lease: float = 30.0
    max_attempt: float = 900.0

    def __post_init__(self) -> None:
        """Refuse what no call could live with."""
        for field in fields(self):
            value: float = getattr(self, field.name)
            if not isfinite(value) or value < 0:
                msg = f"Policy({field.name}={value}): give a finite number that is not negative"
                raise UsageError(msg)
        if self.lease == 0:
            raise UsageError("Policy(lease=0): a holder needs some time; give at least a second")
