"""The faults, as data: what the client is shown, and what really became of the request."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Shows = Literal["success", "timeout", "error"]
Hidden = Literal["executed", "not_executed", "late", "redelivered"]
Hits = Literal["1", "2", "all"]
ReadHits = Literal["0", "1", "2", "all"]

ATTEMPTS_HIT: tuple[Hits, ...] = ("1", "2", "all")


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to an attempt of a write, at the boundary of the service.

    `shows`: the service's own answer, none until the client's time-out, or a 500 made on the
    way. `hidden`: whether the request arrived, never, late, or twice. Faults that show the same
    cannot be told apart by any client until a later answer depends on what was hidden.
    """

    name: str
    shows: Shows
    hidden: Hidden


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            Fault("none", "success", "executed"),
            Fault("lost_request", "timeout", "not_executed"),
            Fault("lost_ack", "timeout", "executed"),
            Fault("late_commit", "timeout", "late"),
            Fault("redelivery", "timeout", "redelivered"),
            Fault("error_before", "error", "not_executed"),
            Fault("error_after", "error", "executed"),
        )
    }
)


def hits_attempt(hits: ReadHits, attempt: int) -> bool:
    """Whether a fault that hits so many attempts hits this one, counted from 1."""
    return hits == "all" or attempt <= int(hits)
