"""A send that has to wait before its first byte asks then whether it may still begin."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Flaky,
    Lab,
    Send,
    awaited,
    changed,
    every_guard,
)
from retry_guard import (
    AsyncGuard,
    Contract,
    Done,
    NotExecuted,
    Outcome,
    Policy,
    Unresolved,
    hold,
    may_go,
)
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, SQLiteLedger

Meanwhile = Callable[[], Awaitable[object]]

each_ledger = pytest.mark.parametrize("store", ["memory", "sqlite"])
IDEMPOTENT = changed(PLAIN, effect="idempotent")


async def nothing() -> None:
    """Nothing happens meanwhile."""


def guard_on(lab: Lab, contract: Contract, ledger: Ledger | None = None) -> AsyncGuard:
    guard = lab.guard(contract, ledger=ledger or lab.open()).guard
    assert isinstance(guard, AsyncGuard)
    return guard


async def called(
    lab: Lab, guard: AsyncGuard, *, send: Send | None = None, args: Args = ARGUMENTS
) -> Outcome:
    made = awaited(send or lab.service.send)
    return await guard.call("charge", args, send=made, scope="acme", turn="t1")


def waiting(lab: Lab, *waits: float, meanwhile: Meanwhile = nothing) -> Send:
    """A send that waits so long, one after the other, and makes sure before its first byte."""
    left = list(waits)

    async def send(arguments: Args, extra: Extra) -> object:
        lab.clock.at += left.pop(0) if left else 0.0
        await meanwhile()
        if not (may_go(extra) or await hold(extra)):
            raise ConnectionRefusedError("nothing was sent")
        return lab.service.send(arguments, extra)

    return send


@each_ledger
def test_what_another_has_taken_over_meanwhile_is_not_sent(store: str, tmp_path: Path) -> None:
    """The holder was suspended, or waited for a server, beyond its lease."""
    lab = Lab("async", store, tmp_path)
    others: list[Outcome] = []

    async def meanwhile() -> None:
        others.append(await called(lab, guard_on(lab, READABLE)))

    send = waiting(lab, 31.0, meanwhile=meanwhile)
    mine = asyncio.run(called(lab, guard_on(lab, READABLE), send=send))
    assert others == [Done({"id": "ch_1"})]
    assert mine == Done({"id": "ch_1"}, replayed=True)
    assert len(lab.service.effects) == 1


@each_ledger
def test_what_has_ended_meanwhile_is_not_sent(store: str, tmp_path: Path) -> None:
    lab = Lab("async", store, tmp_path)

    async def meanwhile() -> None:
        lab.resolve("abandon")

    outcome = asyncio.run(
        called(lab, guard_on(lab, PLAIN), send=waiting(lab, 31.0, meanwhile=meanwhile))
    )
    assert isinstance(outcome, Unresolved)
    assert (outcome.reason, lab.service.requests) == ("abandoned", [])


@each_ledger
@pytest.mark.parametrize("wait", [11.0, 31.0, 300.0])
def test_what_nobody_took_over_is_held_anew_and_sent(
    store: str, wait: float, tmp_path: Path
) -> None:
    lab = Lab("async", store, tmp_path)
    leases: list[float] = []

    def send(arguments: Args, extra: Extra) -> object:
        leases.append(lab.only().lease - lab.clock.at)
        return {"id": "ch_1"}

    lab.service.send = send  # type: ignore[method-assign]
    outcome = asyncio.run(called(lab, guard_on(lab, PLAIN), send=waiting(lab, wait)))
    assert outcome == Done({"id": "ch_1"})
    assert leases == [30.0]


@each_ledger
@pytest.mark.parametrize(("wait", "requests"), [(5.0, 2), (20.0, 2), (120.0, 1)])
def test_a_key_that_may_be_forgotten_by_now_does_not_go_out(
    store: str, wait: float, requests: int, tmp_path: Path
) -> None:
    lab = Lab("async", store, tmp_path)
    lab.service.meet("lost_ack")
    keyed = changed(KEYED, key={"param": "key", "retention": 200})
    policy = Policy(attempts=1, deadline=1000.0)
    guard = AsyncGuard(
        lab.open(), [keyed], classify=guard_on(lab, keyed).classify, clock=lab.clock, policy=policy
    )
    outcome = asyncio.run(called(lab, guard, send=waiting(lab, 0.0, wait)))
    assert isinstance(outcome, Done) == (requests == 2)
    assert (len(lab.service.requests), len(lab.service.effects)) == (requests, 1)


def test_a_key_that_its_server_was_seen_to_ignore_meanwhile_does_not_go_out(
    tmp_path: Path,
) -> None:
    lab = Lab("async", "memory", tmp_path)
    guard = guard_on(lab, KEYED)
    lab.service.meet("lost_ack")

    async def meanwhile() -> None:
        if lab.service.requests:
            guard._site.ignored.add("charge")

    asyncio.run(called(lab, guard, send=waiting(lab, meanwhile=meanwhile)))
    assert len(lab.service.requests) == 1


@each_ledger
def test_a_repeat_is_not_sent_after_a_newer_write_that_came_meanwhile(
    store: str, tmp_path: Path
) -> None:
    lab = Lab("async", store, tmp_path)
    guard, newer = guard_on(lab, IDEMPOTENT), {**ARGUMENTS, "amount": 6}
    lab.service.meet("lost_ack")

    async def meanwhile() -> None:
        if len(lab.service.requests) == 1:
            await called(lab, guard, args=newer)

    asyncio.run(called(lab, guard, send=waiting(lab, 0.0, 20.0, meanwhile=meanwhile)))
    assert lab.service.requests == [ARGUMENTS, newer]


def test_an_operators_word_is_carried_out_however_long_it_has_to_wait(tmp_path: Path) -> None:
    lab = Lab("async", "sqlite", tmp_path)
    lab.service.meet("lost_ack")
    assert isinstance(asyncio.run(called(lab, guard_on(lab, PLAIN))), Unresolved)
    lab.clock.at += 1.0
    lab.resolve("again")
    outcome = asyncio.run(called(lab, guard_on(lab, PLAIN), send=waiting(lab, 100.0)))
    assert outcome == Done({"id": "ch_2"})


def test_nothing_is_sent_where_the_ledger_cannot_tell_whose_it_is(tmp_path: Path) -> None:
    lab = Lab("async", "sqlite", tmp_path)
    ledger = Flaky(lab.open())

    async def meanwhile() -> None:
        ledger.down.add("save")

    guard = guard_on(lab, PLAIN, cast("Ledger", ledger))
    outcome = asyncio.run(called(lab, guard, send=waiting(lab, 11.0, meanwhile=meanwhile)))
    assert isinstance(outcome, NotExecuted)
    assert lab.service.requests == []


def test_a_call_that_is_stopped_while_it_asks_sends_nothing(tmp_path: Path) -> None:
    lab = Lab("async", "sqlite", tmp_path)

    class Stopping(SQLiteLedger):
        stop: Callable[[], object] | None = None

        def save(self, record: Record) -> bool:
            if self.stop is not None:
                self.stop()
                self.stop = None
            return super().save(record)

    async def stopped() -> None:
        loop, ledger = asyncio.get_running_loop(), Stopping(lab.path)
        guard = guard_on(lab, PLAIN, ledger)
        task = asyncio.create_task(called(lab, guard, send=waiting(lab, 11.0)))
        ledger.stop = lambda: loop.call_soon_threadsafe(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    assert lab.service.requests == []
    assert lab.only().state == "not_executed"


@every_guard
@pytest.mark.parametrize(("wait", "goes"), [(0.0, True), (9.0, True), (11.0, False), (31.0, False)])
def test_a_send_may_begin_for_a_third_of_the_lease_without_asking_the_ledger(
    make: Callable[[Path], Lab], wait: float, goes: bool, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    seen: list[bool] = []

    def send(arguments: Args, extra: Extra) -> object:
        lab.clock.at += wait
        seen.append(may_go(extra))
        raise ConnectionRefusedError("nothing was sent")

    lab.guard(PLAIN).not_executed(send=send)
    assert seen == [goes]


def test_where_nothing_is_guarded_a_send_may_always_begin() -> None:
    assert may_go({})
    assert asyncio.run(hold({}))
