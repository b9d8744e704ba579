"""A ledger in a dict: nothing but the matching that every ledger has to do."""

from dataclasses import replace
from typing import NamedTuple

from retry_guard_core import Now, Record


class About(NamedTuple):
    """What names an action here. `turns`: those in which a caller was given its result."""

    scope: str
    identity: str
    id: str = ""
    arguments: str = ""
    turns: tuple[str | None, ...] = ()


def about(record: Record) -> About:
    """Return what this ledger keeps beside a record."""
    named: About = record.about
    return named


def same_action(record: Record, claim: Record) -> bool:
    """Whether an equal call is meant, in whichever turn."""
    return about(record)[:2] == about(claim)[:2]


def answered(record: Record, turn: str | None) -> bool:
    """Whether a call of this turn began it or was given its result."""
    return turn is not None and turn in (record.turn, *about(record).turns)


def unreceived(record: Record) -> bool:
    """Whether it is done, and no caller has its result."""
    return record.state == "done" and not record.delivered


def take_over(record: Record, claim: Record) -> Record:
    """Return a record whose lease is out, as held by the owner of `claim`."""
    ended = record.lease if record.ended is None else record.ended
    seen = record.seen if record.seen in ("ignored", "split") else None
    held = replace(record, owner=claim.owner, claimed=claim.claimed, lease=claim.lease)
    return replace(held, tries=0, seen=seen, ended=ended)


class ToyLedger:
    """Records by id, the oldest first."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def put(self, record: Record) -> Record:
        self.records[about(record).id] = record
        return record

    def claim(self, new: Record, after: Record | None, now: Now) -> Record:
        mine = [record for record in self.records.values() if same_action(record, new)]
        for record in mine:
            if record.state == "open":
                out = record.lease < now.earliest
                return self.put(take_over(record, new)) if out else record
        near = [
            r for r in mine if answered(r, new.turn) or (r.state, r.delivered) == ("done", False)
        ]
        for record in (near or mine)[-1:]:
            if after is None or about(record).id != about(after).id:
                return replace(record, turn=new.turn) if answered(record, new.turn) else record
            self.put(replace(record, answer=None))
        return self.put(new)

    def save(self, new: Record) -> bool:
        stored = self.records[about(new).id]
        if new.state == "done" != stored.state:
            fact = {"state": "done", "value": new.value, "settled_at": new.settled_at}
            mine = stored.state == "open" and stored.owner == new.owner
            self.put(new if mine else replace(stored, **fact))
            return True
        if stored.state != "open" or stored.owner != new.owner:
            return False
        self.put(new)
        return True

    def deliver(self, record: Record, turn: str | None) -> None:
        stored = self.records[about(record).id]
        turns = (*about(stored).turns, turn)
        self.put(replace(stored, delivered=True, about=about(stored)._replace(turns=turns)))

    def renew(self, owner: str, lease: float) -> None:
        for record in list(self.records.values()):
            if record.owner == owner and record.state == "open":
                self.put(replace(record, lease=max(record.lease, lease)))
