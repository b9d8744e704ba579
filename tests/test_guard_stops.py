"""Interrupts and cancellations, at each place where they can meet a call."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Flaky,
    HandClock,
    Lab,
    LabMaker,
    Operator,
    Send,
    every_guard,
)
from retry_guard import AsyncGuard, Guard, Policy
from retry_guard_core import Now, Record
from retry_guard_ledgers import Ledger, SQLiteLedger
from retry_guard_outcomes import classify


class Stopping(Flaky):
    """Interrupts its caller at a verb: before it worked, or after."""

    def __init__(self, ledger: Ledger, verb: str, when: str) -> None:
        super().__init__(ledger)
        self.verb, self.when = verb, when

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - as the ledger's
        found = super().__getattr__(verb)
        if verb != self.verb:
            return found

        def call(*given: object, **named: object) -> object:
            first = verb not in self.calls
            if first and self.when == "before":
                self.calls.append(verb)
                raise KeyboardInterrupt
            result = found(*given, **named)
            if first:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_before_the_send_releases_the_claim(
    store: str, when: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=Stopping(lab.ledger, "claim", when)).call()
    assert lab.service.requests == []
    assert lab.only().state == "not_executed"
    assert lab.guard(PLAIN).done().value == {"id": "ch_1"}


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_an_interrupt_is_obeyed_though_the_ledger_fails_at_that_moment(
    store: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    flaky = Flaky(lab.ledger)

    def stop_then_fail(verb: str, given: tuple[object, ...]) -> bool:
        if verb == "claim" and flaky.calls.count(verb) == 1:
            raise KeyboardInterrupt
        return "claim" in flaky.calls

    flaky.failing = stop_then_fail
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=flaky).call()
    assert lab.service.requests == []


class StoppingClock(HandClock):
    """Interrupts whoever looks at it for the nth time."""

    looks = 0

    def __init__(self, stop_at: int) -> None:
        super().__init__()
        self.stop_at = stop_at

    def now(self) -> Now:
        self.looks += 1
        if self.looks == self.stop_at:
            raise KeyboardInterrupt
        return super().now()


@pytest.mark.parametrize("look", range(1, 9))
def test_an_interrupt_between_the_steps_never_leads_to_a_second_send(
    look: int, tmp_path: Path
) -> None:
    lab = Lab("sync", "memory", tmp_path)
    clock = StoppingClock(look)
    try:
        lab.guard(PLAIN, clock=clock).call()
    except KeyboardInterrupt:
        assert lab.service.requests or look <= 4
    sent, states = len(lab.service.requests), [record.state for record in lab.records()]
    if look == 4:  # the last look before the send
        assert states == ["not_executed"]
    clock.stop_at, clock.at = 0, clock.at + 31
    outcome = lab.guard(PLAIN, clock=clock).call()
    assert len(lab.service.requests) <= 1
    if states in ([], ["not_executed"]):
        assert (sent, outcome.unwrap()) == (0, {"id": "ch_1"})


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_call_that_is_interrupted_as_it_takes_over_asks_and_reads_nothing(
    store: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    lab.service.lag = 90.0
    lab.service.meet("lost_ack", "lost_ack")
    operator, other = Operator(), {**ARGUMENTS, "amount": 6}
    lab.guard(PLAIN).unresolved()
    lab.guard(READABLE, policy=Policy(deadline=0.5)).unresolved(other)
    lab.clock.sleep(1)
    reads = lab.service.reads
    for contract, given in ((PLAIN, ARGUMENTS), (READABLE, other)):
        stopping = Stopping(lab.ledger, "claim", "after")
        with pytest.raises(KeyboardInterrupt):
            lab.guard(contract, ledger=stopping, ask=operator).call(given)
    assert (operator.asked, lab.service.reads, len(lab.service.requests)) == ([], reads, 2)
    assert all(record.lease <= lab.clock.at for record in lab.records())


@every_guard
def test_an_interrupt_during_the_send_leaves_the_outcome_unknown(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.send(arguments, extra)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN).call(send=send)
    assert (lab.only().state, lab.only().lease) == ("open", lab.clock.at)
    for turn in ("t1", "t2"):
        lab.clock.sleep(1)
        assert lab.guard(PLAIN).unresolved(turn=turn).reason == "nothing_can_tell"
    assert len(lab.service.effects) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_the_completion_is_written_is_obeyed_when_it_is(
    store: str, when: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=Stopping(lab.ledger, "save", when)).call()
    assert (lab.only().state, lab.only().delivered) == ("done", False)
    outcome = lab.guard(PLAIN).done(turn="t2")
    assert (outcome.value, outcome.replayed) == ({"id": "ch_1"}, True)
    assert len(lab.service.effects) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_result_whose_caller_is_interrupted_as_it_is_delivered_goes_to_the_next_turn(
    store: str, when: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=Stopping(lab.ledger, "deliver", when)).call()
    assert (lab.only().state, lab.only().delivered) == ("done", False)
    outcome = lab.guard(PLAIN).done(turn="t2")
    assert (outcome.value, outcome.replayed) == ({"id": "ch_1"}, True)
    assert len(lab.service.effects) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_an_interrupted_replay_takes_nothing_from_the_caller_that_has_the_result(
    store: str, tmp_path: Path
) -> None:
    """It was delivered before, so a later turn means another action."""
    lab = Lab("sync", store, tmp_path)
    lab.guard(PLAIN).done()
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=Stopping(lab.ledger, "deliver", "after")).call()
    assert lab.only().delivered
    assert lab.guard(PLAIN).done(turn="t2").value == {"id": "ch_2"}


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_an_interrupt_is_obeyed_though_the_delivery_cannot_be_taken_back(
    store: str, tmp_path: Path
) -> None:
    lab = Lab("sync", store, tmp_path)
    flaky = Stopping(lab.ledger, "deliver", "after")
    flaky.failing = lambda verb, given: flaky.calls.count("deliver") > 2
    with pytest.raises(KeyboardInterrupt):
        lab.guard(PLAIN, ledger=flaky).call()
    assert flaky.calls.count("deliver") == 3
    assert lab.guard(PLAIN).done().value == {"id": "ch_1"}


@every_guard
def test_an_interrupt_while_waiting_gives_the_lease_back(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")

    def read(tool: str, arguments: Args) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.guard(READABLE, read=read).call()
    assert (lab.only().state, lab.only().lease <= lab.clock.at) == ("open", True)
    lab.clock.sleep(1)
    assert lab.guard(READABLE).done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 1


@every_guard
def test_a_later_interrupt_of_the_process_changes_nothing_that_is_done(
    make: LabMaker, tmp_path: Path
) -> None:
    """B18: the run failed after the effect, for a reason of its own."""
    lab = make(tmp_path)

    def run() -> None:
        lab.guard(PLAIN).done()
        raise RuntimeError("the guardrail tripped")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="tripped"):
            run()
    assert len(lab.service.effects) == 1


class Gate:
    """Holds the ledger's thread at one verb, until it is opened."""

    def __init__(self, ledger: SQLiteLedger, verb: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        found: Callable[..., Any] = getattr(ledger, verb)

        def slow(*given: object, **named: object) -> object:
            self.reached.set()
            assert self.open.wait(30)
            return found(*given, **named)

        setattr(ledger, verb, slow)


async def cancelled_at(
    verb: str, guard: AsyncGuard, send: Send, arguments: dict[str, Any] = ARGUMENTS
) -> None:
    """Cancel a call while the ledger works on this verb, twice, then let it go on."""
    assert isinstance(guard.ledger, SQLiteLedger)
    gate = Gate(guard.ledger, verb)
    work = guard.call("charge", arguments, send=send, scope="acme", turn="t1")
    task = asyncio.ensure_future(work)
    await asyncio.to_thread(gate.reached.wait, 30)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


@pytest.mark.parametrize("mode", ["guard", "observe"])
@pytest.mark.parametrize(
    ("verb", "arguments"), [("claim", ARGUMENTS), ("find", {**ARGUMENTS, "key": "K"})]
)
async def test_a_cancellation_before_the_send_releases_the_claim(
    verb: str, arguments: Args, mode: Literal["guard", "observe"], tmp_path: Path
) -> None:
    """B111."""
    sent: list[dict[str, Any]] = []

    async def send(arguments: Args, extra: Extra) -> str:
        sent.append(arguments)
        return "ok"

    ledger = SQLiteLedger(tmp_path / "guard.db")
    guard = AsyncGuard(ledger, [KEYED], classify=classify, mode=mode)
    await cancelled_at(verb, guard, send, arguments)
    assert sent == []
    outcome = await guard.call("charge", arguments, send=send, scope="acme", turn="t1")
    assert outcome.unwrap() == "ok"
    assert len(sent) == 1


@pytest.mark.parametrize("later", ["t1", "t2"])
@pytest.mark.parametrize("verb", ["save", "deliver"])
async def test_a_cancellation_while_the_ledger_works_is_obeyed_when_that_is_done(
    verb: str, later: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 9: no caller has the result, so it goes to the next equal call, of any turn."""
    monkeypatch.setattr(SQLiteLedger, "prompt", None)  # so that all of it takes a while
    sent: list[dict[str, Any]] = []

    async def send(arguments: Args, extra: Extra) -> str:
        sent.append(arguments)
        return "ok"

    ledger = SQLiteLedger(tmp_path / "guard.db")
    guard = AsyncGuard(ledger, [PLAIN], classify=classify)
    await cancelled_at(verb, guard, send)
    (record,) = ledger.list("acme")
    assert (record.state, record.delivered) == ("done", False)
    outcome = await guard.call("charge", ARGUMENTS, send=send, scope="acme", turn=later)
    assert outcome.unwrap() == "ok"
    assert len(sent) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_cancellation_during_the_send_leaves_the_outcome_unknown(
    store: str, tmp_path: Path
) -> None:
    """B30: the client drops its future, the server finishes."""
    lab = Lab("async", store, tmp_path)
    guard = lab.guard(PLAIN).guard
    assert isinstance(guard, AsyncGuard)
    under_way = asyncio.Event()

    async def send(arguments: Args, extra: Extra) -> str:
        lab.service.send(arguments, extra)
        under_way.set()
        await asyncio.Event().wait()
        return "never"

    work = guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    task = asyncio.ensure_future(work)
    await under_way.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.only().state == "open"
    lab.clock.sleep(1)
    second = await guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    assert type(second).__name__ == "Unresolved"
    assert len(lab.service.effects) == 1


async def test_a_cancellation_is_obeyed_though_the_key_is_refused(tmp_path: Path) -> None:
    lab = Lab("async", "sqlite", tmp_path)
    lab.service.meet("lost", times=5)
    lost = Guard(lab.ledger, [KEYED], classify=classify, clock=lab.clock)
    given = {**ARGUMENTS, "key": "K"}
    lost.call("charge", given, send=lab.service.send, scope="acme", turn="t1")
    guard = lab.guard(KEYED).guard
    assert isinstance(guard, AsyncGuard)
    await cancelled_at("find", guard, lab.service.send, {**given, "amount": 99})
    assert len(lab.service.requests) == 5


async def test_a_time_out_around_a_call_is_a_time_out(tmp_path: Path) -> None:
    lab = Lab("async", "sqlite", tmp_path)
    guard = lab.guard(PLAIN).guard
    assert isinstance(guard, AsyncGuard)

    limit = asyncio.timeout(None)

    async def send(arguments: Args, extra: Extra) -> None:
        limit.reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with limit:
            await guard.call("charge", ARGUMENTS, send=send, scope="acme")
    assert lab.only().state == "open"


async def test_a_cancellation_is_obeyed_though_the_ledger_fails_at_that_moment(
    tmp_path: Path,
) -> None:
    from retry_guard_ledgers import LedgerError

    ledger = SQLiteLedger(tmp_path / "guard.db")

    def broken(*given: object) -> Record:
        raise LedgerError("down: mend it")

    async def send(arguments: Args, extra: Extra) -> None:
        raise AssertionError

    ledger.claim = broken  # type: ignore[method-assign,assignment] # it fails at this moment
    guard = AsyncGuard(ledger, [PLAIN], classify=classify)
    await cancelled_at("claim", guard, send)


def test_a_thread_that_is_interrupted_in_mid_call_never_sends_twice(tmp_path: Path) -> None:
    """B113: the next identical call meets an unknown."""
    lab = Lab("sync", "memory", tmp_path)
    guard = Guard(lab.ledger, [KEYED], classify=classify, clock=lab.clock)

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.send(arguments, extra)
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    lab.clock.sleep(1)
    outcome = guard.call("charge", ARGUMENTS, send=lab.service.send, scope="acme", turn="t1")
    assert outcome.unwrap() == {"id": "ch_1"}
    assert len(lab.service.effects) == 1
