"""What the tests of ledgers share: both backends, records, and a clock that is set by hand."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from retry_guard_core import Now, Record
from retry_guard_ledgers import Action, MemoryLedger, OpenedLedger, SQLiteLedger, about
from retry_guard_ledgers._clock import Clocks

LEASE = 30.0
_names = itertools.count()
_OF_ACTION = {field.name for field in dataclasses.fields(Action)}


@dataclass
class HandClocks:
    """Two raw clocks that stand still until a test moves them."""

    steady: float = 1_000.0
    wall: float = 1_700_000_000.0
    boot: str = "boot 1"

    def raw(self) -> Clocks:
        """What a ledger reads."""
        return Clocks(lambda: self.steady, lambda: self.wall, self.boot)

    def pass_(self, seconds: float) -> None:
        """Let real time pass: both clocks go on."""
        self.steady += seconds
        self.wall += seconds


BACKENDS: dict[str, Callable[[Path, Clocks | None], OpenedLedger]] = {
    "memory": lambda path, clocks: MemoryLedger(clocks=clocks),
    "sqlite": lambda path, clocks: SQLiteLedger(path / "ledger.db", clocks=clocks),
}


@pytest.fixture(params=sorted(BACKENDS))
def each_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenedLedger]:
    """An empty ledger of each kind."""
    made = BACKENDS[request.param](tmp_path, None)
    yield made
    made.close()


def at(seconds: float) -> Now:
    """A moment on which both clocks agree."""
    return Now(seconds, seconds)


def new(identity: bytes = b"i", *, time: float = 100.0, **fields: Any) -> Record:  # noqa: ANN401 - fields of any type
    """A record as a first claim inserts it: held by a new owner, sent once."""
    name = next(_names)
    action: dict[str, Any] = {
        "scope": "acme",
        "id": f"action-{name}",
        "identity": identity,
        "resource": "charge",
        "arguments": b'{"amount":5}',
        "call_ids": (f"call-{name}",),
    }
    action |= {field: fields.pop(field) for field in _OF_ACTION & fields.keys()}
    stated: dict[str, Any] = {
        "tool": "charge",
        "turn": "turn-1",
        "content": b"content",
        "owner": f"owner-{name}",
        "claimed": time,
        "lease": time + LEASE,
        "sends": (time,),
    }
    return Record(**stated | fields, about=Action(**action))


def name_of(record: Record | None) -> str | None:
    """A record's id."""
    return None if record is None else about(record).id


def named(record: Record, **fields: Any) -> Record:  # noqa: ANN401 - fields of any type
    """A record with other fields in its `about`."""
    return replace(record, about=replace(about(record), **fields))


def settled(record: Record, state: str = "done", *, time: float = 110.0, **fields: Any) -> Record:  # noqa: ANN401 - fields of any type
    """A record as its holder saves it when it has ended."""
    stated: dict[str, Any] = {"state": state, "ended": time, "settled_at": time, "value": b'"v"'}
    return replace(record, **stated | fields)


def began(ledger: OpenedLedger, record: Record) -> Record:
    """Claim a new record, after whatever ended that would answer; return it."""
    got = ledger.claim(record, None, at(record.claimed))
    if name_of(got) != name_of(record):
        got = ledger.claim(record, got, at(record.claimed))
    assert name_of(got) == name_of(record)
    return got


def ended(ledger: OpenedLedger, record: Record, state: str = "done") -> Record:
    """Claim a new record and save its end; return it as it is stored."""
    assert ledger.save(settled(began(ledger, record), state))
    return stored(ledger, record)


def stored(ledger: OpenedLedger, record: Record) -> Record:
    """The record as the ledger has it now."""
    got = ledger.get(about(record).scope, about(record).id)
    assert got is not None
    return got
