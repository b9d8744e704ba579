"""One execution of a request at a service."""

from collections.abc import Callable
from dataclasses import dataclass

from retry_guard_sandbox.world._http import Request, Response

OTHERS = 0
"""In place of a send: the request came from another client, so its effects are not of this one."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One arrival of a request: `send` says which request of the client, `copy` which delivery.

    `share`: how much of a batch takes effect before it stops; but at least its first item, and
    of several not the last.
    """

    send: int
    copy: int = 0
    share: float = 1.0

    def of(self, items: int) -> int:
        """How many items of so many take effect."""
        return items if self.share >= 1.0 else max(1, min(items - 1, int(self.share * items)))


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a request: what arrived, as which delivery, and the present moment."""

    request: Request
    delivery: Delivery
    now: float


Handler = Callable[[Execution], Response]
