"""Every ledger against a reference model of a few lines, in random order of everything."""

# ruff: noqa: ANN401 - what Hypothesis draws from has no public type

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ledger_suite import BACKENDS, at, name_of, named, new, settled
from retry_guard_core import Record
from retry_guard_ledgers import Answer, LedgerError, about, may_save, take_over
from retry_guard_ledgers._rules import resolved

SCOPES, IDENTITIES, TURNS = ("a", "b"), (b"1", b"2"), ("t", "u", "v", None)


class Model:
    """What `Ledger` says, on lists, with no index and no care for speed."""

    def __init__(self) -> None:
        """Start empty."""
        self.records: list[Record] = []  # as they were recorded
        self.ended: list[str] = []  # ids, as they ended
        self.told: set[tuple[str, str | None]] = set()  # ids, and the turns that have the result

    def get(self, name: str) -> Record | None:
        """Return a record by its id."""
        return next((r for r in self.records if about(r).id == name), None)

    def put(self, record: Record) -> None:
        """Replace a record."""
        place = [about(r).id for r in self.records].index(about(record).id)
        if record.state not in ("open", self.records[place].state):
            self.ended = [name for name in self.ended if name != about(record).id]
            self.ended.append(about(record).id)
        self.records[place] = record

    def claim(self, record: Record, after: Record | None, now: float) -> Record:
        """Return the record that counts."""
        action = about(record)
        same = [
            r
            for r in self.records
            if (about(r).scope, about(r).identity) == (action.scope, action.identity)
        ]
        for held in same:
            if held.state == "open":
                if held.lease < now:
                    self.put(take_over(held, record))
                return self.get(about(held).id) or held
        turn, over = record.turn, [r for n in self.ended for r in same if about(r).id == n]
        mine = [r for r in over if turn is not None and self.answered(r, turn)]
        lost = [r for r in over if r.state == "done" and not r.delivered]
        found = [r for r in over if r in mine or r in lost] or over
        if found and name_of(found[-1]) != name_of(after):
            return replace(found[-1], turn=turn) if found[-1] in mine else found[-1]
        if found and found[-1].answer == "again":
            self.put(replace(found[-1], answer=None))
        self.records.append(record)
        return record

    def answered(self, record: Record, turn: str) -> bool:
        """Whether the record answered a call of that turn."""
        return record.turn == turn or (about(record).id, turn) in self.told

    def save(self, record: Record) -> bool:
        """Store it if it may be."""
        kept = self.get(about(record).id)
        if kept is None or not may_save(kept, record):
            return False
        late = replace(kept, state="done", value=record.value, settled_at=record.settled_at)
        mine = kept.state == "open" and kept.owner == record.owner
        self.put(record if mine else late)
        return True

    def deliver(self, name: str, turn: str | None, *, back: bool) -> None:
        """Note who has the result."""
        kept = self.get(name)
        if kept is not None and kept.state == "done":
            self.told = self.told - {(name, turn)} if back else self.told | {(name, turn)}
            self.put(replace(kept, delivered=any(told[0] == name for told in self.told)))


class Machine(RuleBasedStateMachine):
    """Does the same to a ledger and to the model, and compares what they say."""

    backend = "memory"

    def __init__(self) -> None:
        """Start both empty."""
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = BACKENDS[self.backend](Path(self.folder.name), None)
        self.model, self.time = Model(), 100.0
        self.seen: list[Record] = []  # what callers hold, however old

    def teardown(self) -> None:
        """Remove the file."""
        self.ledger.close()
        self.folder.cleanup()

    @rule(
        scope=st.sampled_from(SCOPES),
        identity=st.sampled_from(IDENTITIES),
        turn=st.sampled_from(TURNS),
        key=st.sampled_from((None, "k", "l")),
        data=st.data(),
    )
    def claim(self, scope: str, identity: bytes, turn: str | None, key: Any, data: Any) -> None:
        """Claim, after nothing or after something that was seen."""
        after = data.draw(st.sampled_from([None, *self.seen]))
        draft = new(identity, time=self.time, scope=scope, turn=turn, key=key)
        for known in (after, None):
            got = self.ledger.claim(draft, known, at(self.time))
            assert got == self.model.claim(draft, known, self.time)
            self.seen.append(got)
            if got == draft:
                return

    @rule(seconds=st.sampled_from((1.0, 29.0, 31.0)))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    @precondition(lambda self: self.seen)
    @rule(
        data=st.data(), state=st.sampled_from(("open", "done", "done", "not_executed", "abandoned"))
    )
    def save(self, data: Any, state: str) -> None:
        """Save what a caller holds, which may be long out of date."""
        held: Record = data.draw(st.sampled_from(self.seen))
        record = settled(held, state, time=self.time, lease=self.time + 30, delivered=False)
        kept = self.model.get(about(held).id)
        if kept is not None:
            record = replace(record, turn=kept.turn, generation=kept.generation, key=kept.key)
        if data.draw(st.booleans()):
            record = replace(record, generation=record.generation + 1, key=f"k{record.generation}")
        if data.draw(st.booleans()):
            record = named(record, effect_id=data.draw(st.sampled_from((None, "e", "f"))))
        assert self.ledger.save(record) is self.model.save(record)

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), turn=st.sampled_from(TURNS), back=st.sampled_from((False, False, True)))
    def deliver(self, data: Any, turn: str | None, *, back: bool) -> None:
        """Hand a result over, or take that back."""
        held: Record = data.draw(st.sampled_from(self.seen))
        self.ledger.deliver(about(held).scope, about(held).id, turn, back=back)
        self.model.deliver(about(held).id, turn, back=back)

    @precondition(lambda self: self.seen)
    @rule(
        data=st.data(), answer=st.sampled_from(("happened", "did_not_happen", "again", "abandon"))
    )
    def resolve(self, data: Any, answer: Answer) -> None:
        """Let the operator answer."""
        held = about(data.draw(st.sampled_from(self.seen)))
        now, kept = at(self.time), self.model.get(held.id)
        assert kept is not None
        try:
            wanted = resolved(kept, answer, now=now, value=b"told", final=False)
        except LedgerError:
            with pytest.raises(LedgerError):
                self.ledger.resolve(held.scope, held.id, answer, now=now, value=b"told")
        else:
            got = self.ledger.resolve(held.scope, held.id, answer, now=now, value=b"told")
            assert got == wanted
            self.model.put(wanted)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def look(self, data: Any) -> None:
        """Ask for a record in every way."""
        held: Record = data.draw(st.sampled_from(self.seen))
        scope, records = about(held).scope, self.model.records
        place = [about(r).id for r in records].index(about(held).id)
        assert self.ledger.get(scope, about(held).id) == records[place]
        newer = any(about(r).scope == scope for r in records[place + 1 :])
        assert self.ledger.newer(scope, held) is newer
        for effect in ("e", "f"):
            tied = [r for r in records if (about(r).scope, about(r).effect_id) == (scope, effect)]
            assert self.ledger.find(scope, effect_id=effect) == (tied[-1] if tied else None)

    @invariant()
    def the_same_is_recorded(self) -> None:
        """Nothing is there that the model has not, and nothing is missing."""
        assert self.ledger.list() == self.model.records
        open_ones = [r for r in self.model.records if r.state == "open"]
        assert len({(about(r).scope, about(r).identity) for r in open_ones}) == len(open_ones)
        assert self.ledger.list(state="open") == open_ones
        for scope in SCOPES:
            mine = [r for r in open_ones if about(r).scope == scope]
            assert self.ledger.list(scope, state="open") == mine
            early = [r for r in mine if r.claimed < self.time]
            assert self.ledger.list(scope, state="open", older_than=self.time) == early


class SQLiteMachine(Machine):
    """The same on SQLite."""

    backend = "sqlite"


TestMemoryLedger = Machine.TestCase
TestMemoryLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestSQLiteLedger = SQLiteMachine.TestCase
TestSQLiteLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
