"""How a toy driver stamps what it claims and saves: time, lease and key."""

from dataclasses import replace

from retry_guard_core import Policy, Record, Terms
from toy_ledger import ToyLedger, about
from toy_world import World

LEASE = 30.0
TICK = 2.0**-10  # what a driver adds to each wait; a power of two, so that sums stay exact
POLICY = Policy(
    attempts=1,
    fresh_sends=1,
    backoff=0.0,
    deadline=60.0,
    send_timeout=5.0,
    skew=1.0,
    poll=40.0,
)


class Claims:
    """What a caller writes into the ledger. `claims`, `keys`: how many it has made."""

    def __init__(self, name: str, world: World, ledger: ToyLedger, terms: Terms) -> None:
        self.name, self.world, self.ledger, self.terms = name, world, ledger, terms
        self.claims = self.keys = 0

    def stamped(self, record: Record) -> Record:
        """The record as a claim would insert it now."""
        self.claims += 1
        now, action = self.world.now, about(record)._replace(id=f"{self.name}{self.claims}")
        record = replace(record, claimed=now, lease=now + LEASE, sends=(now,), about=action)
        return self.keyed(replace(record, key=None))

    def keyed(self, record: Record) -> Record:
        if not self.terms.keyed or record.key is not None:
            return record
        self.keys += 1
        return replace(record, key=f"{self.name}/{self.keys}")

    def saved(self, record: Record, *, hold: bool) -> tuple[Record, bool]:
        now = self.world.now
        settled = record.settled_at if record.state == "open" else now
        record = replace(record, lease=now + LEASE if hold else now, settled_at=settled)
        record = self.keyed(record)
        return record, self.ledger.save(record)
