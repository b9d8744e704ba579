"""A reference model: what a ledger and a world may look like after whatever was done to them."""

from dataclasses import dataclass, field

from retry_guard_core import Record
from toy_checks import sends_that_ran
from toy_claims import POLICY
from toy_game import Game
from toy_ledger import about

NEXT = {
    "open": {"open", "done", "not_executed", "abandoned"},
    "not_executed": {"not_executed", "done"},
    "abandoned": {"abandoned", "done"},
    "done": {"done"},
}


@dataclass
class Model:
    """`agains`: how often an operator asked for one more, by action."""

    known: dict[str, Record] = field(default_factory=dict[str, Record])
    agains: dict[str, int] = field(default_factory=dict[str, int])

    def observe(self, game: Game) -> None:
        """Fail where a record or an effect has come that nothing allows."""
        records = game.ledger.records
        assert sum(record.state == "open" for record in records.values()) <= 1
        for name, record in records.items():
            if name in self.known:
                self.follows(self.known[name], record)
            else:
                assert record.state == "open"
                assert len(record.sends) == 1, "a new record is marked as sent once"
        self.known = dict(records)
        self.effects(game)
        self.reports(game)

    def follows(self, before: Record, after: Record) -> None:
        """A record may only go on as the design says."""
        assert after.state in NEXT[before.state], (before, after)
        for kept in ("tool", "turn", "content"):
            assert getattr(before, kept) == getattr(after, kept)
        assert about(before)[:4] == about(after)[:4]
        assert after.fresh <= POLICY.fresh_sends
        assert after.delivered or not before.delivered
        if after.state == "open":
            assert after.generation >= before.generation
            assert after.generation > before.generation or after.key == before.key

    def effects(self, game: Game) -> None:
        """Each action took effect by one send at most, and by one more for each `again`."""
        turns: dict[str, set[str]] = {}
        for name, record in game.ledger.records.items():
            allowed = 1 + self.agains.get(name, 0)
            assert len(sends_that_ran(game, {name})) <= allowed, name
            sent = {effect.arguments for effect in game.world.effects if effect.action == name}
            assert sent <= {about(record).arguments}, f"{name} was sent with other arguments"
            if record.turn is not None:
                turns.setdefault(record.turn, set()).add(name)
        more = sum(self.agains.values())
        for turn, names in turns.items():
            assert len(sends_that_ran(game, names)) <= 1 + more, turn

    def reports(self, game: Game) -> None:
        """What was told is so."""
        made = {effect.value: effect for effect in game.world.effects}
        for caller in game.callers:
            if caller.end is None:
                continue
            if caller.end.kind == "done":
                assert caller.end.value in made, f"{caller.name} was told of nothing"
                assert made[caller.end.value].action == about(caller.record).id
            if caller.end.kind == "not_executed":
                ran = sends_that_ran(game, {about(caller.record).id})
                assert not ran, f"{caller.name} was told not executed"
