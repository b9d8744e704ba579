"""Programs that fork while a ledger is in use; tests run them as processes of their own.

`python fork_workers.py NAME FOLDER`: each prints lines of JSON.
"""

import asyncio
import ctypes
import json
import logging
import multiprocessing
import os
import secrets
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from guards import ARGUMENTS, PLAIN, Args, Extra
from ledger_suite import at, new
from retry_guard import AsyncGuard, Guard
from retry_guard_ledgers import LedgerError, MemoryLedger, SQLiteLedger, _forks
from retry_guard_outcomes import classify

FORKS = 6


def say(*facts: object) -> None:
    """Print one line at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def tell(work: Callable[[], object]) -> NoReturn:
    """Do it, say what came of it, and end as an interpreter does."""
    signal.alarm(60)
    try:
        say("child", work() is not None)
    except LedgerError as error:
        say("child is refused", str(error).partition(",")[0])
    sys.exit(0)


def in_a_child(work: Callable[[], object], fork: Callable[[], int] = os.fork) -> None:
    """Do it in a child, and say how that ended."""
    child = fork()
    if child == 0:
        tell(work)
    say("child ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def claim(ledger: SQLiteLedger | MemoryLedger, name: str) -> object:
    """Claim an action of that name."""
    return ledger.claim(new(name.encode()), None, at(100))


def opened(folder: Path, name: str = "ledger.db") -> SQLiteLedger:
    """Open a ledger, and claim in it."""
    ledger = SQLiteLedger(folder / name)
    claim(ledger, "first")
    return ledger


def long_work(folder: Path) -> None:
    """Fork while a thread is in the midst of a transaction that takes too long to wait for."""
    _forks.PATIENCE = 0.3
    ledger, began, go_on = opened(folder), threading.Event(), threading.Event()

    def work(db: sqlite3.Connection) -> int:
        db.execute("BEGIN IMMEDIATE")
        began.set()
        go_on.wait(60)
        db.execute("UPDATE meta SET value = value")
        db.execute("COMMIT")
        return 7

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(ledger._sessions.run, "full", work)
        began.wait(60)
        in_a_child(lambda: claim(ledger, "child"))
        in_a_child(lambda: claim(SQLiteLedger(ledger.path), "child"))  # the file, not the object
        in_a_child(lambda: claim(SQLiteLedger(folder / "other.db"), "child"))
        go_on.set()
        say("work", working.result())
    say("goes on", claim(ledger, "later") is not None)


def own_work(folder: Path) -> None:
    """Fork in the midst of work of the very thread that forks, as a signal's handler may."""
    ledger = opened(folder)
    began = time.monotonic()

    def work(db: sqlite3.Connection) -> int:
        db.execute("BEGIN IMMEDIATE")
        in_a_child(lambda: claim(SQLiteLedger(ledger.path), "child"))
        db.execute("COMMIT")
        return 7

    say("work", ledger._sessions.run("full", work))
    say("without a wait", time.monotonic() - began < _forks.PATIENCE)
    say("goes on", claim(ledger, "later") is not None)


def behind_python(folder: Path) -> None:
    """Fork as a library in C does, which tells Python nothing."""
    ledger = opened(folder)
    in_a_child(lambda: claim(ledger, "child"), ctypes.PyDLL(None).fork)
    say("goes on", claim(ledger, "later") is not None)


def while_made(folder: Path) -> None:
    """Fork while a thread makes the ledger."""
    _forks.PATIENCE = 0.3
    began, go_on, token = threading.Event(), threading.Event(), secrets.token_bytes

    def slow(size: int) -> bytes:
        if size > 8:  # of a secret, which is written into what others open later
            began.set()
            go_on.wait(60)
        return token(size)

    made = folder / "made"

    def child() -> object:
        while not made.exists():
            time.sleep(0.01)
        return claim(SQLiteLedger(folder / "ledger.db"), "child")

    with ThreadPoolExecutor(1) as pool, patch.object(secrets, "token_bytes", slow):
        making = pool.submit(SQLiteLedger, folder / "ledger.db")
        began.wait(60)
        pid = os.fork()
        if pid == 0:
            tell(child)
        go_on.set()
        making.result()
        made.touch()
    say("child ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def pool(folder: Path) -> None:
    """Let forked processes of multiprocessing use a ledger that this one has open."""
    ledger = opened(folder)
    with multiprocessing.get_context("fork").Pool(3) as processes:
        processes.map(_claimed, [(ledger.path, number) for number in range(12)])
    say("all", len(ledger.list()))


def _claimed(given: tuple[Path, int]) -> None:
    path, number = given
    claim(SQLiteLedger(path), f"child {number}")


def guard_among_threads(folder: Path) -> None:
    """Fork again and again while threads guard calls, and guard one in each child."""
    ledger = SQLiteLedger(folder / "ledger.db")
    guard, stop = Guard(ledger, [PLAIN], classify=classify), threading.Event()

    def call(name: str) -> object:
        given = ARGUMENTS | {"reference": name}
        return guard.call("charge", given, send=lambda _a, _e: "made", scope="acme", turn=name)

    def work(number: int) -> None:
        count = 0
        while not stop.is_set():
            call(f"{number} {count}")
            count += 1

    with ThreadPoolExecutor(3) as threads:
        works = [threads.submit(work, number) for number in range(3)]
        for number in range(FORKS):
            in_a_child(partial(call, f"child {number}"))
        stop.set()
        for one in works:
            one.result()
    say("open", [record.state for record in ledger.list() if record.state != "done"])


def memory_among_threads(_folder: Path) -> None:
    """Fork again and again while threads use a ledger in memory, and use it in each child."""
    logging.disable()
    ledger, stop = MemoryLedger(), threading.Event()

    def work(number: int) -> None:
        count = 0
        while not stop.is_set():
            claim(ledger, f"{number} {count % 50}")
            count += 1

    with ThreadPoolExecutor(3) as threads:
        works = [threads.submit(work, number) for number in range(3)]
        for number in range(FORKS):
            in_a_child(partial(claim, ledger, f"child {number}"))
        stop.set()
        for one in works:
            one.result()


def async_daemon(folder: Path) -> None:
    """Guard a call, fork off, end; the child guards another one once this process is gone."""
    ledger = SQLiteLedger(folder / "ledger.db")
    guard = AsyncGuard(ledger, [PLAIN], classify=classify)

    async def send(_arguments: Args, _extra: Extra) -> str:
        return "made"

    async def call(name: str) -> object:
        given = ARGUMENTS | {"reference": name}
        return await guard.call("charge", given, send=send, scope="acme", turn=name)

    asyncio.run(call("parent"))
    parent, (reading, writing) = os.getpid(), os.pipe()
    if os.fork():
        os.read(reading, 1)
        ledger.close()
        return
    signal.alarm(60)
    asyncio.run(call("before"))
    os.write(writing, b"1")
    while os.getppid() == parent:
        time.sleep(0.01)
    asyncio.run(call("after"))
    say("recorded")
    sys.stdin.readline()
    os._exit(0)


if __name__ == "__main__":
    known = {
        work.__name__: work
        for work in (
            *(long_work, own_work, behind_python, while_made, pool),
            *(guard_among_threads, memory_among_threads, async_daemon),
        )
    }
    known[sys.argv[1]](Path(sys.argv[2]))
