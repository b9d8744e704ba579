"""The engine stepped by hand: told whatever a world could tell it, in every combination."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from retry_guard_core import End, Now, Policy, Record, Reply, Step, Terms, guarded

UNKNOWN = End("unknown")
START = 1_000.0


def call_of(**facts: Any) -> Record:  # noqa: ANN401 - any field of a record
    """The record that a first claim of caller A inserts."""
    usual: dict[str, Any] = {
        "tool": "t",
        "turn": "t1",
        "content": b"",
        "owner": "A",
        "claimed": START,
        "lease": START + 30,
        "sends": (START,),
        "about": "A1",
    }
    return Record(**{**usual, **facts})


class Hand:
    """One engine. `step`: what it asks for; None once it has ended with `end`."""

    def __init__(self, call: Record, terms: Terms, policy: Policy | None = None) -> None:
        self.engine = guarded(call, terms, policy or Policy())
        self.step: Step | None = next(self.engine)
        self.end: End | None = None

    @property
    def does(self) -> str:
        return "" if self.step is None else self.step.do

    @property
    def record(self) -> Record:
        assert self.step is not None
        return self.step.record

    def tell(self, at: float, *, ok: bool = True, end: End = UNKNOWN, **facts: Any) -> "Hand":  # noqa: ANN401 - any field of a record
        """Answer the step: the time, whether it went well, how a send ended, what was learnt."""
        return self.give((Now(at, at), replace(self.record, **facts), ok, end))

    def give(self, reply: Reply) -> "Hand":
        try:
            self.step = self.engine.send(reply)
        except StopIteration as stop:
            self.step, self.end = None, stop.value
        return self

    def sent(self, at: float = START + 1, end: End = UNKNOWN, **facts: Any) -> "Hand":  # noqa: ANN401 - any field of a record
        """Go on from the first claim to the end of the first send."""
        assert self.does == "claim"
        self.tell(START, **facts)
        assert self.does == "send"
        return self.tell(at, end=end)


class Told(NamedTuple):
    """One step and the reply to it."""

    step: Step
    reply: Reply


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run: what was asked and told; how it ended, or None where it was cut off."""

    told: tuple[Told, ...]
    end: End | None

    def does(self) -> list[str]:
        return [told.step.do for told in self.told]


Menu = Callable[[Step, float], list[Reply]]


def traces(start: Callable[[], Hand], menu: Menu, depth: int) -> Iterator[Trace]:
    """Every run in which each step is told each answer that the menu has for it."""

    def visit(told: tuple[Told, ...], now: float) -> Iterator[Trace]:
        hand = start()
        for _, reply in told:
            hand.give(reply)
        if hand.step is None or len(told) == depth:
            yield Trace(told, hand.end)
            return
        for reply in menu(hand.step, now):
            yield from visit((*told, Told(hand.step, reply)), reply[0].earliest)

    return visit((), START)


def answers(step: Step, now: float) -> list[Reply]:
    """What a world, a ledger and an operator could answer; time passes as it is waited for."""
    later, record = now + 1, step.record
    match step.do:
        case "claim":
            return claimed(step, now)
        case "save":
            return [told(now, record)]
        case "hold":
            record = keyed(record)
            return [told(now, record), told(now, record, ok=False)]
        case "send":
            return [told(later, record, end=end) for end in ENDS]
        case "wait":
            return [told(now + step.detail, record)]
        case "read":
            looks = ("absent", "some", "ours", "foreign")
            return [told(later, record, seen=seen, read_at=now, value="v") for seen in looks]
        case "ask":
            return asked(record, later)
        case "split":
            return parted(record, later)


ENDS = (
    End("done", "v"),
    End("done", "v", "ignored"),
    End("not_executed", "e"),
    End("not_executed", "e", "rejected"),
    UNKNOWN,
    End("unknown", note="exists"),
)


def told(at: float, record: Record, *, ok: bool = True, end: End = UNKNOWN, **facts: Any) -> Reply:  # noqa: ANN401 - any field of a record
    return Now(at, at), replace(record, **facts), ok, end


def keyed(record: Record) -> Record:
    return record if record.key else replace(record, key=f"key of {record.generation}")


def claimed(step: Step, now: float) -> list[Reply]:
    """First: it is new. Later: taken over again, or settled by another meanwhile."""
    if step.detail is None and now == START:
        return [told(now, keyed(step.record))]
    late: dict[str, Any] = {"ended": now, "claimed": now, "lease": now + 30, "key": "key of 0"}
    done: dict[str, Any] = {"owner": "B", "state": "done", "value": "v", "settled_at": now}
    return [told(now, step.record, **late), told(now, step.record, **done)]


def parted(record: Record, at: float) -> list[Reply]:
    """What was missing of a batch was done, is unresolved, or was refused."""
    unresolved = End("unresolved", note="unread", not_before=at + 9)
    return [
        told(at, record, state="done", value="v"),
        told(at, record, ok=False, end=unresolved),
        told(at, record, ok=False, end=End("not_executed", "e")),
    ]


def asked(record: Record, at: float) -> list[Reply]:
    return [
        told(at, record, ok=False, asked_at=at),
        told(at, record, answer="again", asked_at=at),
        told(at, record, answer="did_not_happen", asked_at=at),
        told(at, record, answer="did_not_happen", asked_at=float("inf")),
        told(at, record, state="done", value="v", asked_at=at),
        told(at, record, state="abandoned", asked_at=at),
    ]
