"""Many callers at once, on the machine's clock: one run, and everybody gets its result."""

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from guard_workers import call_once
from guards import ARGUMENTS, PLAIN, QUICK, Args, Extra, Flaky, gives
from retry_guard import AsyncGuard, Contract, Done, Guard, NotExecuted, Outcome, Policy, Unresolved
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, LedgerError, MemoryLedger, SQLiteLedger
from retry_guard_outcomes import classify

MANY = 50


def opened(store: str, folder: Path) -> Ledger:
    return MemoryLedger() if store == "memory" else SQLiteLedger(folder / "guard.db")


def until(met: Callable[[], bool]) -> None:
    """Return once it is so."""
    limit = time.monotonic() + 30
    while not met():
        assert time.monotonic() < limit, "it never was so"
        time.sleep(0.005)


def check(outcomes: list[Outcome], runs: int) -> None:
    assert runs == 1
    assert {type(outcome) for outcome in outcomes} == {Done}
    done = [outcome for outcome in outcomes if isinstance(outcome, Done)]
    assert [outcome.value for outcome in done] == ["run 1"] * MANY
    assert sum(not outcome.replayed for outcome in done) == 1
    assert {outcome.warning for outcome in done} == {None}


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_of_fifty_threads_one_runs_and_the_others_join(store: str, tmp_path: Path) -> None:
    """B71, B118, B37, B57, B12."""
    guard = Guard(opened(store, tmp_path), [PLAIN], classify=classify, policy=QUICK)
    barrier, runs = threading.Barrier(MANY), list[int]()

    def send(arguments: Args, extra: Extra) -> str:
        runs.append(1)
        time.sleep(0.02)
        return f"run {len(runs)}"

    def call(number: int) -> Outcome:
        barrier.wait()
        call_id = f"call_{number}"
        return guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1", call_id=call_id)

    with ThreadPoolExecutor(MANY) as pool:
        check(list(pool.map(call, range(MANY))), len(runs))


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_of_fifty_tasks_one_runs_and_the_others_join(store: str, tmp_path: Path) -> None:
    """B71, B12, B20: in one model message, or twice in a stream."""
    guard = AsyncGuard(opened(store, tmp_path), [PLAIN], classify=classify, policy=QUICK)
    runs = list[int]()

    async def send(arguments: Args, extra: Extra) -> str:
        runs.append(1)
        await asyncio.sleep(0.02)
        return f"run {len(runs)}"

    given = [dict(ARGUMENTS), dict(reversed(ARGUMENTS.items()))] * (MANY // 2)
    calls = [guard.call("charge", one, send=send, scope="acme", turn="t1") for one in given]
    check(list(await asyncio.gather(*calls)), len(runs))


def test_of_four_processes_one_runs_and_the_others_join(tmp_path: Path) -> None:
    """B118, B78, B132, B6."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    given = (str(tmp_path / "guard.db"), barrier, str(tmp_path / "effects"))
    processes = [context.Process(target=call_once, args=given) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert (tmp_path / "effects").read_text(encoding="utf-8") == "effect\n"


def test_a_second_caller_joins_and_gets_the_firsts_refusal() -> None:
    ledger = Flaky(MemoryLedger())
    guard = Guard(cast("Ledger", ledger), [PLAIN], classify=classify, policy=QUICK)
    inside, leave = threading.Event(), threading.Event()

    def send(arguments: Args, extra: Extra) -> None:
        inside.set()
        leave.wait(30)
        raise ConnectionRefusedError("nobody listens")

    def never(arguments: Args, extra: Extra) -> None:
        raise AssertionError("the second caller sent")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(guard.call, "charge", ARGUMENTS, send=send, scope="acme", turn="t1")
        inside.wait(30)
        second = pool.submit(guard.call, "charge", ARGUMENTS, send=never, scope="acme", turn="t2")
        until(lambda: ledger.calls.count("claim") >= 2)
        leave.set()
        assert isinstance(first.result(), NotExecuted)
        joined = second.result()
    assert isinstance(joined, NotExecuted)
    assert joined.error == "ConnectionRefusedError: nobody listens"


SHORT = Policy(lease=1.5, poll=0.005, deadline=30.0)


class Counting(MemoryLedger):
    """Counts how often leases are renewed."""

    renewals = 0

    def renew(self, records: list[Record], lease: float) -> None:
        super().renew(records, lease)
        self.renewals += 1


def test_a_heartbeat_keeps_the_lease_of_work_that_outlives_it() -> None:
    """B117, B92: a lease is renewed each third of it, and the work outlasts more than one."""
    ledger = Counting()
    guard = Guard(ledger, [PLAIN], classify=classify, policy=SHORT)
    inside = threading.Event()

    def send(arguments: Args, extra: Extra) -> str:
        inside.set()
        until(lambda: ledger.renewals >= 4)
        return "run 1"

    def call() -> Outcome:
        return guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(call)
        inside.wait(30)
        second = pool.submit(call)
        outcomes = first.result(), second.result()
    assert [outcome.unwrap() for outcome in outcomes] == ["run 1", "run 1"]
    (record,) = ledger.list("acme")
    assert len(record.sends) == 1


def test_beyond_max_attempt_the_next_caller_investigates_and_a_late_success_is_kept() -> None:
    """B117, B92: no heartbeat any more, so the lease runs out: unknown, never a second run."""
    ledger = MemoryLedger()
    policy = Policy(lease=0.06, max_attempt=0.0, poll=0.005, deadline=30.0)
    guard = Guard(ledger, [PLAIN], classify=classify, policy=policy)
    inside, leave = threading.Event(), threading.Event()
    sends = list[int]()

    def send(arguments: Args, extra: Extra) -> str:
        sends.append(1)
        inside.set()
        leave.wait(30)
        return "late"

    def call(turn: str) -> Outcome:
        return guard.call("charge", ARGUMENTS, send=send, scope="acme", turn=turn)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(call, "t1")
        inside.wait(30)
        second = call("t1")
        assert isinstance(second, Unresolved)
        assert second.reason == "nothing_can_tell"
        leave.set()
        done = first.result()
    assert isinstance(done, Done)
    assert done.value == "late"
    assert call("t1").unwrap() == "late"
    assert len(sends) == 1


def test_the_heartbeats_thread_ends_when_nothing_is_kept() -> None:
    policy = Policy(lease=0.6, poll=0.005)
    guard = Guard(MemoryLedger(), [Contract(tool="charge")], classify=classify, policy=policy)
    before = {thread.ident for thread in threading.enumerate()}
    for number in range(3):
        guard.call("charge", {"n": number}, send=gives(1), scope="acme")
    started = [t for t in threading.enumerate() if t.ident not in before]
    assert len(started) <= 1
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()
    before = {thread.ident for thread in threading.enumerate()}
    guard.call("charge", {"n": 9}, send=gives(1), scope="acme")
    assert [t.name for t in threading.enumerate() if t.ident not in before] == ["retry-guard"]


class SlowToRenew(MemoryLedger):
    """Renews only when it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.renewing, self.go_on, self.renewed = (threading.Event() for _ in range(3))

    def renew(self, records: list[Record], lease: float) -> None:
        self.renewing.set()
        self.go_on.wait(30)
        super().renew(records, lease)
        self.renewed.set()


def test_a_lease_that_was_given_back_is_not_renewed_any_more() -> None:
    """Else the next caller would wait for a holder that has gone."""
    ledger = SlowToRenew()
    policy = Policy(lease=0.3, poll=0.005)
    guard = Guard(ledger, [PLAIN], classify=classify, policy=policy)

    def send(arguments: Args, extra: Extra) -> None:
        ledger.renewing.wait(30)
        threading.Timer(0.01, ledger.go_on.set).start()
        raise TimeoutError

    outcome = guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    assert isinstance(outcome, Unresolved)
    ledger.renewed.wait(30)
    (record,) = ledger.list("acme")
    assert record.lease <= ledger.now().latest


class Refusing(MemoryLedger):
    """Renews no lease."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.reached = error, threading.Event()

    def renew(self, records: list[Record], lease: float) -> None:
        self.reached.set()
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("hunter2"), LedgerError("mend it")], ids=repr)
def test_a_lease_that_cannot_be_renewed_is_logged_without_a_stranger_s_words(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the guard's own errors are known to hold no field of a call."""
    ledger = Refusing(error)

    def send(arguments: Args, extra: Extra) -> str:
        assert ledger.reached.wait(30)
        return "ok"

    contract = Contract(tool="charge", secret=["token"])
    guard = Guard(ledger, [contract], classify=classify, policy=Policy(lease=1.0))
    guard.call("charge", {"token": "hunter2"}, send=send, scope="acme")
    until(lambda: "could not be renewed" in caplog.text)
    assert ("mend it" if isinstance(error, LedgerError) else "RuntimeError") in caplog.text
    assert "hunter2" not in caplog.text
