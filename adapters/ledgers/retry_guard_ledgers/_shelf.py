"""The order in which a memory ledger finds the records of one scope and identity."""

from dataclasses import dataclass, field

from retry_guard_core import Record
from retry_guard_ledgers._action import about


@dataclass(slots=True)
class Shelf:
    """All records of one scope and identity, by their ids.

    `open`: the one that is, if any. `ended`: the others, with their rank as they ended.
    `waiting`: done, and nobody has the result. `turns`: which records answered a turn.
    `told`: the turns whose callers have a result; None: of a caller without a turn.
    """

    open: str | None = None
    ended: dict[str, int] = field(default_factory=dict[str, int])
    waiting: set[str] = field(default_factory=set[str])
    turns: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    told: dict[str, tuple[str | None, ...]] = field(
        default_factory=dict[str, "tuple[str | None, ...]"]
    )

    def put(self, record: Record, *, settled: bool) -> None:
        """Sort a record in as it is now; `settled`: its state has just changed."""
        name = about(record).id
        if record.state == "open":
            self.open = name
            return
        if self.open == name:
            self.open = None
        if settled:
            rank = next(reversed(self.ended.values()), 0) + 1
            self.ended.pop(name, None)
            self.ended[name] = rank
        if record.state == "done" and not record.delivered:
            self.waiting.add(name)
        else:
            self.waiting.discard(name)

    def answered(self, turn: str | None, name: str) -> None:
        """Note that a record answered a call of this turn."""
        if turn is not None:
            self.turns.setdefault(turn, set()).add(name)

    def deliver(self, turn: str | None, record: Record) -> bool:
        """Note that a caller of this turn has the result; return whether anybody has it: yes."""
        name = about(record).id
        told = self.told.get(name, ())
        self.told[name] = told if turn in told else (*told, turn)
        self.answered(turn, name)
        return True

    def take_back(self, turn: str | None, record: Record) -> bool:
        """Undo what `deliver` noted for this turn; return whether anybody still has the result."""
        name = about(record).id
        told = self.told.get(name, ())
        if turn not in told:
            return record.delivered
        self.told[name] = tuple(other for other in told if other != turn)
        if turn is not None and turn != record.turn:
            self.turns[turn].discard(name)
        return bool(self.told[name])

    def latest(self, turn: str | None) -> str | None:
        """Return which record that ended answers a claim, in the order of `Ledger.claim`."""
        hits = self.waiting | (self._of(turn) & self.ended.keys())
        if hits:
            return max(hits, key=self.ended.__getitem__)
        return next(reversed(self.ended), None)

    def is_of(self, turn: str | None, name: str) -> bool:
        """Whether the record answered a call of this turn."""
        return name in self._of(turn)

    def _of(self, turn: str | None) -> set[str]:
        return set() if turn is None else self.turns.get(turn, set())
