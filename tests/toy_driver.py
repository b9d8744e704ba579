"""A toy driver: one caller, stepped by hand, turn by turn, on a virtual clock."""

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import replace
from functools import partial
from types import ModuleType

import retry_guard_core
from retry_guard_core import End, Policy, Record, Reply, Step, Terms
from toy_claims import LEASE, POLICY, TICK, Claims
from toy_ledger import About, ToyLedger, about
from toy_world import SEND, Effect, World

Operator = Callable[[World, Record], Record | None]


def waits(step: Step | None) -> float:
    """How long until the step can be performed."""
    return step.detail + TICK if step is not None and step.do == "wait" else 0.0


def joined(found: list[Effect]) -> str:
    """The result of what was found, in the order of the items."""
    return "+".join(effect.value for effect in sorted(found, key=lambda e: e.arguments))


def attribute(found: list[Effect], *, exclusive: bool, batch: bool) -> str:
    """What a look shows: ours only where nobody else could have made it.

    An action is one effect, whatever its arguments are spelled like, and a batch one of each item.
    """
    if len(found) > (len({effect.arguments for effect in found}) if batch else 1):
        return "several"
    if not found:
        return "absent"
    return "ours" if exclusive else "foreign"


class Caller(Claims):
    """One guarded call. `ready`: when it can go on. `stopped`: it crashed."""

    def __init__(
        self,
        name: str,
        world: World,
        ledger: ToyLedger,
        *,
        turn: str | None = "t1",
        content: bytes = b"",
        arguments: str = "",
        identity: str = "identity",
        fresh: int = 0,
        policy: Policy = POLICY,
        terms: Terms | None = None,
        operator: Operator | None = None,
        core: ModuleType = retry_guard_core,
        attribute: Callable[..., str] = attribute,
    ) -> None:
        named = About("scope", identity, arguments=arguments)
        super().__init__(name, world, ledger, terms or world.terms)
        self.operator, self.attribute = operator, attribute
        self.call = Record(
            tool=self.terms.tool,
            turn=turn,
            content=content,
            fresh=fresh,
            owner=name,
            claimed=world.now,
            lease=world.now,
            sends=(world.now,),
            about=named,
        )
        self.policy, self.core = policy, core
        self.rest: Caller | None = None
        self.started = partial(core.guarded, self.call, self.terms, policy)
        self.engine, self.replies = self.started(), list[Reply]()
        self.step: Step | None = next(self.engine)
        self.record, self.end = self.call, None
        self.flight: End | None = None
        self.ready, self.asked = world.now, 0
        self.delivered = self.stopped = self.suspended = self.stale = False
        self.told_at, self.skew = world.now, policy.skew

    @property
    def finished(self) -> bool:
        return self.stopped or (self.step is None and self.delivered)

    @property
    def holds(self) -> bool:
        """Whether the ledger says that it holds an open record."""
        records, names = self.ledger.records.values(), {one.name for one in self.family}
        return any(r.owner in names and r.state == "open" for r in records)

    @property
    def family(self) -> "list[Caller]":
        """This call, and that of what is missing of its batch."""
        return [self, *(self.rest.family if self.rest else ())]

    def state(self) -> tuple[Hashable, ...]:
        """All that the future depends on, but for the engine."""
        decided = self.told_at if self.step is not None and self.step.do == "hold" else 0.0
        flags = (self.stopped, self.suspended, self.delivered, self.stale, decided)
        counts = (self.claims, self.keys, self.asked)
        return self.record, self.end, self.flight, self.ready, *counts, *flags

    def go(self) -> None:
        """Take one turn: perform the pending step, up to the next that others could notice."""
        self.suspended = False
        self.world.pass_until(self.ready)
        if self.step is None:
            return self.deliver()
        if self.step.do == "send" and self.flight is None:
            return self.begin_send(self.step.record)
        if self.step.do == "split":
            return self.go_split(self.step.record)
        if self.step.do == "wait":
            self.answer((self.world.moment(), self.step.record, True, End("unknown")))
            return self.go()
        return self.answer(self.perform(self.step))

    def copy(self, world: World, ledger: ToyLedger) -> "Caller":
        """The same caller in another world. A generator is copied by telling it all again."""
        twin = copy(self)
        twin.world, twin.ledger, twin.replies = world, ledger, [*self.replies]
        twin.rest = None if self.rest is None else self.rest.copy(world, ledger)
        if not self.stopped and self.step is not None:
            twin.engine = self.started()
            next(twin.engine)
            for reply in self.replies:
                twin.engine.send(reply)
        return twin

    def answer(self, reply: Reply) -> None:
        self.replies.append(reply)
        self.record, self.told_at = reply[1], reply[0].latest
        try:
            self.step = self.engine.send(reply)
        except StopIteration as stop:
            self.step, self.end = None, stop.value
        else:
            self.ready = self.world.now + waits(self.step)

    def begin_send(self, record: Record) -> None:
        """Look at the lease; then the request leaves with the recorded arguments.

        A decision that was old when it was saved is as good as a lease that ran out.
        """
        if self.world.now >= record.lease or self.stale:
            self.flight = End("not_executed", "lease lost")
            return
        action = about(record)
        self.flight = self.world.send(action.id, record.key, action.arguments)
        self.ready = self.world.now + SEND

    def perform(self, step: Step) -> Reply:
        now, record, ok, end = self.world.moment(), step.record, True, End("unknown")
        match step.do:
            case "claim":
                record = self.ledger.claim(self.stamped(record), step.detail, now)
            case "hold" | "save":
                self.stale = step.do == "hold" and self.world.now - self.told_at > self.skew
                record, ok = self.saved(record, hold=step.do == "hold")
            case "send":
                end, self.flight = self.flight or end, None
            case "read":
                record = self.looked(record)
            case "ask":
                self.asked += 1
                given = self.operator(self.world, record) if self.operator else None
                ok = given is not None
                record = given or replace(record, answer=None, asked_at=now.latest)
            case "wait" | "split":
                raise AssertionError("no step that is performed at once")
        return now, record, ok, end

    def looked(self, record: Record) -> Record:
        """The record with what the read-back shows; what another action made is left out."""
        others = (r for r in self.ledger.records.values() if about(r).id != about(record).id)
        tied = {value for r in others if r.state == "done" for value in str(r.value).split("+")}
        found = [e for e in self.world.visible(record.sends[0]) if e.value not in tied]
        if self.world.batch:
            found = [e for e in found if e.arguments in about(record).arguments]
        seen = self.attribute(found, exclusive=self.world.exclusive, batch=self.world.batch)
        value = joined(found) if seen == "ours" else record.value
        there = {effect.arguments for effect in found}
        missing = "".join(item for item in about(record).arguments if item not in there)
        if seen == "ours" and self.world.batch and missing:
            seen, value = "some", (missing, value)
        return replace(record, seen=seen, read_at=self.world.now, value=value)

    def go_split(self, record: Record) -> None:
        """Take a turn of the call for what is missing of a batch; with its end, one of this."""
        missing, found = record.value
        if self.rest is not None and self.rest.finished:
            self.answer(self.settled(record, self.rest.end, found))
            return
        if self.rest is None:
            left = self.policy.deadline - (self.world.now - record.claimed)
            self.rest = type(self)(
                f"{self.name}'",
                self.world,
                self.ledger,
                turn=f"rest of {about(record).id}",
                arguments=missing,
                identity=f"rest of {about(record).id} {record.generation}",
                fresh=record.fresh + 1,
                policy=replace(self.policy, deadline=max(left, 0.0)),
                terms=self.terms,
                operator=self.operator,
                core=self.core,
                attribute=self.attribute,
            )
        else:
            self.rest.go()
        self.ready = max(self.ready, self.rest.ready)

    def settled(self, record: Record, end: End | None, found: str) -> Reply:
        now = self.world.moment()
        assert end is not None
        if end.kind == "done":
            return now, replace(record, state="done", value=f"{found}+{end.value}"), True, end
        return now, record, False, end

    def deliver(self) -> None:
        self.delivered = True
        self.world.pass_until(self.world.now + SEND)
        if self.end is not None and self.end.kind == "done":
            self.ledger.deliver(self.record, self.call.turn)

    def beat(self) -> None:
        """Renew the lease, as the heartbeat of a live process does."""
        if not (self.stopped or self.suspended):
            for one in self.family:
                self.ledger.renew(one.name, self.world.now + LEASE)

    def run(self) -> End:
        """Take turns until the call has its answer and it is handed over."""
        for _ in range(500):
            if self.finished:
                break
            self.go()
            self.beat()
        assert self.end is not None, f"{self.name} never ends"
        return self.end
