"""The faults, as data: what the client is shown, and what really became of the request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from retry_guard_sandbox.services import TOOLS

Shows = Literal["success", "timeout", "error", "reset"]
Hidden = Literal["executed", "not_executed", "late", "partial", "redelivered"]
Delay = Literal["short", "heavy_tail"]
Hits = Literal["1", "2", "all"]
ReadHits = Literal["0", "1", "2", "all"]

ATTEMPTS_HIT: tuple[Hits, ...] = ("1", "2", "all")


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to an attempt of a write, at the boundary of the service.

    `shows`: the service's own answer, none until the client's time-out, a 500 made on the way,
    or a connection that is reset after the request was sent. `hidden`: whether the request was
    executed, not at all, late, in part or twice; `delay`: how late. Faults that show the same
    cannot be told apart by any client until a later answer depends on what was hidden.
    """

    name: str
    shows: Shows
    hidden: Hidden
    delay: Delay = "short"


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            Fault("none", "success", "executed"),
            Fault("silent_redelivery", "success", "redelivered"),
            Fault("lost_request", "timeout", "not_executed"),
            Fault("lost_ack", "timeout", "executed"),
            Fault("late_commit", "timeout", "late"),
            Fault("late_commit_heavy_tail", "timeout", "late", "heavy_tail"),
            Fault("redelivery", "timeout", "redelivered"),
            Fault("partial_batch", "timeout", "partial"),
            Fault("error_before", "error", "not_executed"),
            Fault("error_after", "error", "executed"),
            Fault("reset_before", "reset", "not_executed"),
            Fault("reset_after", "reset", "executed"),
        )
    }
)


def hits_attempt(hits: ReadHits, attempt: int) -> bool:
    """Whether a fault that hits so many attempts hits this one, counted from 1."""
    return hits == "all" or attempt <= int(hits)


def applies(fault: str, tools: Iterable[str]) -> bool:
    """Whether a fault can befall somebody who uses these tools."""
    used = [TOOLS[tool] for tool in tools]
    if FAULTS[fault].hidden == "partial":
        return any(tool.batch is not None for tool in used)
    return any(tool.effect != "read" for tool in used)
