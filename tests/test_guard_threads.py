"""A durable ledger works in threads: the event loop goes on, and what was begun is ended."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from pathlib import Path
from typing import Any

import pytest

from guards import ARGUMENTS, PLAIN, Args, Extra, Flaky
from retry_guard import AsyncGuard, Done, Outcome, _workers
from retry_guard_contracts import encode_arguments
from retry_guard_ledgers import Ledger, LedgerError, SQLiteLedger, about
from retry_guard_outcomes import classify

HERE: ContextVar[str] = ContextVar("here", default="nowhere")


class Service:
    """Counts what reaches it."""

    def __init__(self) -> None:
        self.sent: list[Args] = []

    async def send(self, arguments: Args, extra: Extra) -> str:
        self.sent.append(arguments)
        return f"made {len(self.sent)}"


class Watched(Flaky):
    """Runs something in each verb, before it works, and notes which verbs were called."""

    def __init__(self, ledger: Ledger, inside: Callable[[str], object]) -> None:
        super().__init__(ledger)
        self.inside = inside

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - as the ledger's
        found = super().__getattr__(verb)
        if not callable(found) or verb == "now":
            return found

        def call(*given: object, **named: object) -> object:
            self.inside(verb)
            return found(*given, **named)

        return call


def guard_on(ledger: Any) -> AsyncGuard:  # noqa: ANN401 - in all but name
    return AsyncGuard(ledger, [PLAIN], classify=classify)


async def charge(guard: AsyncGuard, service: Service, number: int = 0) -> Outcome:
    arguments = {**ARGUMENTS, "amount": number}
    return await guard.call("charge", arguments, send=service.send, scope="acme", turn="t1")


@contextmanager
def locked(path: Path) -> Generator[Callable[[], object]]:
    """Hold the lock of a ledger's file; yields what lets it go."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield lambda: db.execute("ROLLBACK")
    finally:
        db.close()


def threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "retry-guard worker"}


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not met():  # noqa: ASYNC110 - asyncio has no event for other threads
            await asyncio.sleep(0.005)


async def test_the_loop_goes_on_while_the_ledger_is_locked(tmp_path: Path) -> None:
    service, guard = Service(), guard_on(SQLiteLedger(tmp_path / "guard.db", busy=30.0))
    assert (await charge(guard, service)).unwrap() == "made 1"
    with locked(tmp_path / "guard.db") as release:
        calls = [asyncio.ensure_future(charge(guard, service, n)) for n in range(1, 20)]
        for _ in range(20):  # each takes its turn, though nobody but us can let the lock go
            await asyncio.sleep(0.01)
        assert len(service.sent) == 1
        assert not any(call.done() for call in calls)
        release()
        assert all(isinstance(outcome, Done) for outcome in await asyncio.gather(*calls))
    assert len(service.sent) == 20


async def test_of_64_calls_at_once_each_is_sent_once_by_few_threads(tmp_path: Path) -> None:
    service, guard, others = Service(), guard_on(SQLiteLedger(tmp_path / "guard.db")), threads()
    outcomes = await asyncio.gather(*(charge(guard, service, n % 32) for n in range(64)))
    assert all(isinstance(outcome, Done) for outcome in outcomes)
    assert sorted(sent["amount"] for sent in service.sent) == list(range(32))
    assert 0 < len(threads() - others) <= _workers.LIMIT


async def test_calls_one_after_the_other_keep_to_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that takes its time would get another one, and here nothing takes long."""
    monkeypatch.setattr(_workers, "PATIENCE", 60.0)
    monkeypatch.setattr(_workers, "IDLE", 60.0)
    found = set[int]()
    ledger = Watched(
        SQLiteLedger(tmp_path / "guard.db"), lambda _: found.add(threading.get_ident())
    )
    guard = guard_on(ledger)
    found.clear()
    for number in range(20):
        await charge(guard, Service(), number)
    assert len(found) == 1
    assert threading.get_ident() not in found


async def test_a_call_that_the_ledger_keeps_waiting_holds_up_no_other(tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def inside(verb: str) -> None:
        if verb == "claim" and not reached.is_set():
            reached.set()
            assert go_on.wait(30)

    service = Service()
    guard = guard_on(Watched(SQLiteLedger(tmp_path / "guard.db"), inside))
    slow = asyncio.ensure_future(charge(guard, service, 1))
    await until(reached.is_set)
    async with asyncio.timeout(20):
        assert (await charge(guard, service, 2)).unwrap() == "made 1"
    assert not slow.done()
    go_on.set()
    assert (await slow).unwrap() == "made 2"


async def test_what_begins_first_is_claimed_first_as_long_as_the_ledger_is_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workers, "PATIENCE", 60.0)
    service, guard = Service(), guard_on(SQLiteLedger(tmp_path / "guard.db"))
    await charge(guard, service, 100)
    await asyncio.gather(*(charge(guard, service, n) for n in range(40)))
    claimed = [about(record).arguments for record in guard.ledger.list("acme")][1:]
    assert claimed == [encode_arguments({**ARGUMENTS, "amount": n}) for n in range(40)]


async def test_context_variables_reach_the_ledger(tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    ledger = Watched(
        SQLiteLedger(tmp_path / "guard.db"), lambda verb: seen.update({verb: HERE.get()})
    )
    guard = guard_on(ledger)
    HERE.set("here")
    await charge(guard, Service())
    assert {"claim", "save", "deliver"} <= seen.keys()
    assert {seen[verb] for verb in ("claim", "save", "deliver")} == {"here"}


async def test_a_call_that_is_cancelled_while_it_is_saved_is_never_noted_as_delivered(
    tmp_path: Path,
) -> None:
    reached, go_on, verbs = threading.Event(), threading.Event(), list[str]()

    def inside(verb: str) -> None:
        verbs.append(verb)
        if verb == "save":
            reached.set()
            assert go_on.wait(30)

    stored = SQLiteLedger(tmp_path / "guard.db")
    task = asyncio.ensure_future(charge(guard_on(Watched(stored, inside)), Service()))
    await until(reached.is_set)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "deliver" not in verbs
    assert [(record.state, record.delivered) for record in stored.list("acme")] == [("done", False)]


async def test_a_time_out_while_the_ledger_is_locked_is_obeyed_when_that_is_done(
    tmp_path: Path,
) -> None:
    service, ledger = Service(), SQLiteLedger(tmp_path / "guard.db", busy=30.0)
    guard = guard_on(ledger)
    await charge(guard, service)
    with locked(tmp_path / "guard.db") as release:
        asyncio.get_running_loop().call_later(0.2, release)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await charge(guard, service, 1)
    assert len(service.sent) == 1
    assert [record.state for record in ledger.list("acme")] == ["done", "not_executed"]


def test_a_loop_that_ends_lets_the_ledger_end_first(tmp_path: Path) -> None:
    reached, go_on, ledger = threading.Event(), threading.Event(), tmp_path / "guard.db"

    def inside(verb: str) -> None:
        if verb == "claim":
            reached.set()
            assert go_on.wait(30)

    service, stored = Service(), SQLiteLedger(ledger)
    tasks: list[asyncio.Future[Outcome]] = []

    async def main() -> None:
        tasks.append(asyncio.ensure_future(charge(guard_on(Watched(stored, inside)), service)))
        await until(reached.is_set)
        threading.Timer(0.1, go_on.set).start()

    asyncio.run(main())
    assert tasks[0].cancelled()
    assert service.sent == []
    assert [record.state for record in stored.list("acme")] == ["not_executed"]


def test_two_loops_in_two_threads_share_a_guard(tmp_path: Path) -> None:
    service, guard = Service(), guard_on(SQLiteLedger(tmp_path / "guard.db"))
    outcomes: list[Outcome] = []

    async def some() -> None:
        outcomes.extend(await asyncio.gather(*(charge(guard, service, n) for n in range(10))))

    loops = [threading.Thread(target=asyncio.run, args=(some(),)) for _ in range(2)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert sorted(sent["amount"] for sent in service.sent) == list(range(10))
    assert len([one for one in outcomes if isinstance(one, Done)]) == 20


async def test_a_thread_that_has_nothing_to_do_holds_nothing(tmp_path: Path) -> None:
    class Thing:
        pass

    guard, thing, others = guard_on(SQLiteLedger(tmp_path / "guard.db")), Thing(), threads()
    gone = weakref.ref(thing)
    await guard.with_ledger(id, thing)
    (worker,) = threads() - others
    del thing
    await until(lambda: gone() is None)
    assert worker.is_alive()


async def test_a_thread_that_has_nothing_to_do_for_long_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workers, "IDLE", 0.2)
    guard = guard_on(SQLiteLedger(tmp_path / "guard.db"))
    worker = await guard.with_ledger(threading.current_thread)
    assert worker is not threading.current_thread()
    await until(lambda: not worker.is_alive())
    assert isinstance(await charge(guard, Service()), Done)


async def test_where_no_thread_can_be_had_the_ledger_works_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard, service = guard_on(SQLiteLedger(tmp_path / "guard.db")), Service()

    class Full(threading.Thread):
        def start(self) -> None:
            if self.name == "retry-guard worker":
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(threading, "Thread", Full)
    assert (await charge(guard, service)).unwrap() == "made 1"


async def test_work_for_the_ledger_raises_what_it_raises(tmp_path: Path) -> None:
    guard = guard_on(SQLiteLedger(tmp_path / "guard.db"))

    def broken() -> None:
        raise LedgerError("down: mend it")

    with pytest.raises(LedgerError, match="down"):
        await guard.with_ledger(broken)
    reached, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        reached.set()
        assert go_on.wait(30)

    task = asyncio.ensure_future(guard.with_ledger(slow))
    await until(reached.is_set)
    task.cancel()
    await asyncio.sleep(0.02)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task


ABANDONED = """
import asyncio, atexit, sys, threading, time
from retry_guard import AsyncGuard, Contract
from retry_guard_ledgers import SQLiteLedger
from retry_guard_outcomes import classify

ledger, claim, reached = SQLiteLedger(sys.argv[1]), SQLiteLedger.claim, threading.Event()

def slow(*given):
    reached.set()
    time.sleep(0.5)
    return claim(ledger, *given)

ledger.claim = slow
guard = AsyncGuard(ledger, [Contract(tool="charge")], classify=classify)

async def send(arguments, extra):
    return "made"

def call(number):
    return guard.call("charge", {"amount": number}, send=send, scope="acme", turn="t1")

loop = asyncio.new_event_loop()
task = loop.create_task(call(1))
while not reached.is_set():
    loop.run_until_complete(asyncio.sleep(0.01))
if sys.argv[2] == "late":
    atexit.register(lambda: print(asyncio.run(call(2)).unwrap()))
"""


@pytest.mark.parametrize("when", ["once", "late"])
def test_what_the_ledger_has_begun_is_ended_as_python_ends(when: str, tmp_path: Path) -> None:
    """`late`: a call begins when the main thread has ended already."""
    path = tmp_path / "guard.db"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ABANDONED, path, when],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ("made\n" if when == "late" else "")
    states = ["open", "done"] if when == "late" else ["open"]
    assert sorted(record.state for record in SQLiteLedger(path).list("acme")) == sorted(states)


async def test_a_process_that_was_forked_off_has_threads_of_its_own(tmp_path: Path) -> None:
    service, guard = Service(), guard_on(SQLiteLedger(tmp_path / "guard.db"))
    await charge(guard, service)
    child = os.fork()
    if child == 0:
        asyncio._set_running_loop(None)
        outcome = asyncio.run(charge(guard, service, 1))
        os._exit(0 if outcome.unwrap() == "made 2" else 1)
    ended: list[int] = []

    def over() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        ended.extend([status] if pid else [])
        return pid != 0

    try:
        await until(over)
    finally:
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)  # noqa: ASYNC222 - it is gone
    assert ended == [0]
    assert (await charge(guard, service, 2)).unwrap() == "made 2"


def test_a_call_that_comes_from_an_empty_context_goes_on_in_its_own(tmp_path: Path) -> None:
    """As in a program of its own, whose first task has no context variable yet."""

    class Slow(Service):
        async def send(self, arguments: Args, extra: Extra) -> str:
            await asyncio.sleep(0)
            return await super().send(arguments, extra)

    ledger = SQLiteLedger(tmp_path / "guard.db")

    def run() -> None:
        asyncio.run(charge(guard_on(ledger), Slow()))

    Context().run(run)
    assert [record.state for record in ledger.list("acme")] == ["done"]
