"""What a desk is made of, beside both ends of the pipe."""

from collections.abc import Iterable
from dataclasses import dataclass

from retry_guard import Contract, Policy
from retry_guard_ledgers import OpenedLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is guarded, for whom, and how.

    `answer_within`: seconds after which a client is answered; None: as was measured of it.
    `asks`: a person at the client may be asked.
    """

    ledger: OpenedLedger
    contracts: Iterable[Contract]
    scope: str
    show_key: bool = False
    policy: Policy | None = None
    answer_within: float | None = None
    asks: bool = True
