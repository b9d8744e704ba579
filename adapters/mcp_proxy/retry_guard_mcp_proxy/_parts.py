"""What a desk is made of, beside both ends of the pipe."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from retry_guard import Contract, Policy
from retry_guard_ledgers import OpenedLedger
from retry_guard_mcp_proxy._kept import Kept
from retry_guard_mcp_proxy._pins import Pins
from retry_guard_mcp_proxy._trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is guarded, for whom, and how.

    `answer_within`: seconds after which a client is answered; None: as was measured of it.
    `asks`: a person at the client may be asked. `heeds`: what the server states of its tools counts
    as far as it is stricter, and all of it where `pins` say that it is trusted. `kept`: where
    other processes read what is known of the tools; None: nowhere.
    """

    ledger: OpenedLedger
    contracts: Iterable[Contract]
    scope: str
    show_key: bool = False
    policy: Policy | None = None
    answer_within: float | None = None
    asks: bool = True
    heeds: bool = True
    pins: Pins | None = None
    kept: Kept | None = None

    def trust_beside(self, contracts: Mapping[str, Contract]) -> Trust | None:
        """Return what weighs the server's words beside these; None: they count for nothing."""
        if not self.heeds:
            return None
        return Trust(contracts, {} if self.pins is None else self.pins.now)
