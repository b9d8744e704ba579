"""The operator's policy: what the core decides by, and how long a holder may be silent."""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from retry_guard._answers import UsageError
from retry_guard_core import Policy as CorePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(CorePolicy):
    """How far a call may go; see `retry_guard_core.Policy` for the fields that decisions read.

    `lease`: seconds that a holder may be silent before its call is investigated by the next.
    `max_attempt`: seconds in one call after which its lease is renewed no more.
    Raises `UsageError` for a number of `attempts` or `fresh_sends` that is not whole, for a
    `lease` or `poll` that is not above 0, and for anything negative or not finite.
    """

    lease: float = 30.0
    max_attempt: float = 900.0

    def __post_init__(self) -> None:
        """Refuse what no call could live with."""
        for field in fields(self):
            wanted = _missing(field.name, getattr(self, field.name))
            if wanted is not None:
                value = repr(getattr(self, field.name))[:40]
                raise UsageError(f"Policy({field.name}={value}): give {wanted}")


def _missing(name: str, value: Any) -> str | None:
    """What a value would have to be; None: it is that."""
    if name in ("attempts", "fresh_sends"):
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return None if fits else "a whole number that is not negative"
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if name in ("lease", "poll"):
        return None if number and value > 0 else "a finite number of seconds above 0"
    return None if number and value >= 0 else "a finite number that is not negative"
