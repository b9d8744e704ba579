"""Programs that tests of the SQLite ledger run as processes of their own.

`python ledger_workers.py NAME PATH`: each prints lines of JSON.
"""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ledger_suite import at, name_of, new, settled
from retry_guard_ledgers import LedgerError, SQLiteLedger, about
from retry_guard_ledgers._session import Session

NOBODY = 65534
"""A user who owns nothing."""


def say(*facts: object) -> None:
    """Print one line at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def race(path: Path) -> None:
    """Open, wait for the start, claim fifty identities; say whose each one was."""
    say("ready")
    sys.stdin.readline()
    ledger = SQLiteLedger(path)
    for number in range(50):
        draft = new(f"race {number}".encode(), id=f"{os.getpid()}-{number}")
        say(name_of(draft), name_of(ledger.claim(draft, None, at(100))))
    say(ledger.secret.hex())


def claim_many(path: Path) -> None:
    """Claim and settle until somebody kills this process; say what is recorded."""
    ledger = SQLiteLedger(path)
    for number in range(200):
        record = ledger.claim(new(f"{number}".encode(), id=f"a{number}", key="k"), None, at(100))
        say("claimed", about(record).id)
        ledger.save(settled(record))
        say("settled", about(record).id)


def is_usable(session: Session) -> bool:
    """Whether it has a connection that is open."""
    try:
        session.connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def fork(path: Path) -> None:
    """Use a ledger, fork, use it in both, let the child end first, and go on."""
    ledger = SQLiteLedger(path)
    mine = ledger.claim(new(b"parent"), None, at(100))
    inherited = ledger._sessions._session()
    child = os.fork()
    if child == 0:
        ledger.claim(new(b"child"), None, at(100))
        own = ledger._sessions._session()
        say("own connection", own is not inherited, own.process == os.getpid())
        ledger.close()
        inherited.close()  # as its end does
        say("inherited is closed", not is_usable(inherited))
        sys.exit(0)  # with all that an interpreter does at its end
    say("child ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    say("saved", ledger.save(settled(mine)))
    say("same connection", ledger._sessions._session() is inherited)
    say("all", sorted(about(record).identity.decode() for record in ledger.list()))


def fork_with_spares(path: Path) -> None:
    """Fork while a thread that ended has left its connection, and use the ledger in both."""
    ledger = SQLiteLedger(path)

    def claim(identity: bytes) -> object:
        def work() -> object:
            session = ledger._sessions._session()
            ledger.claim(new(identity), None, at(100))
            return session

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()

    left = claim(b"before")
    child = os.fork()
    if child == 0:
        say("own connection", claim(b"child") is not left, claim(b"again") is not left)
        sys.exit(0)
    say("child ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    say("same connection", claim(b"after") is left)
    say("all", sorted(about(record).identity.decode() for record in ledger.list()))


def fork_and_end(path: Path) -> None:
    """Fork off a process that goes on once this one has ended, as one that serves others does."""
    ledger = SQLiteLedger(path)
    ledger.claim(new(b"parent"), None, at(100))
    parent = os.getpid()
    if os.fork():
        return
    ledger.claim(new(b"before"), None, at(100))
    say("runs", os.getpid())
    while os.getppid() == parent:
        time.sleep(0.01)
    ledger.claim(new(b"after"), None, at(100))
    say("claimed")
    sys.stdin.readline()
    os._exit(0)


def fork_among_threads(path: Path) -> None:
    """Fork again and again while threads use the ledger, in both."""
    ledger, stop = SQLiteLedger(path), threading.Event()

    def work(number: int) -> int:
        count = 0
        while not stop.is_set():
            ledger.claim(new(f"{number} {count}".encode()), None, at(100))
            count += 1
            time.sleep(0.01)  # SQLite's lock is not fair
        return count

    with ThreadPoolExecutor(4) as pool:
        works = [pool.submit(work, number) for number in range(4)]
        for number in range(8):
            child = os.fork()
            if child == 0:
                ledger.claim(new(f"child {number}".encode()), None, at(100))
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        stop.set()
        counts = sum(one.result() for one in works)
    say("all", len(ledger.list()) == counts + 8)


def lock(path: Path) -> None:
    """Hold the write lock until a line comes."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    say("locked")
    sys.stdin.readline()
    db.execute("COMMIT")
    say("released")


def lock_six_seconds(path: Path) -> None:
    """Hold the write lock for six seconds."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    say("locked")
    time.sleep(6)
    db.execute("COMMIT")
    say("released")


def fill(path: Path) -> None:
    """Claim large records until the file may grow no more, then say what went wrong."""
    ledger = SQLiteLedger(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    for number in range(200):
        try:
            ledger.claim(new(f"{number}".encode(), arguments=bytes(20_000)), None, at(100))
        except LedgerError as error:
            say("refused", str(error))
            return
        say("claimed", number)


def read_only(path: Path) -> None:
    """Use a ledger that this user may read and not write, in two kinds of folders."""
    with tempfile.TemporaryDirectory() as folder:  # what is imported late, such a user cannot read
        SQLiteLedger(Path(folder, "any.db")).close()
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        shutil.copy(path, copy)
        copy.chmod(0o444)
        for place, file in {"in its folder": path, "in a folder to write to": copy}.items():
            try:
                say(place, name_of(SQLiteLedger(file).claim(new(b"new"), None, at(100))))
            except LedgerError as error:
                say(place, str(error))


def interrupt(path: Path) -> None:
    """Take a record over again and again, interrupted a hundred times at random moments."""
    ledger, moment = SQLiteLedger(path), 0.0
    db, chance = ledger._sessions._session().connection, random.Random(7)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for _ in range(100):
        try:
            # Once more, should what is interrupted be where Python cannot raise.
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0001, 0.01), 2.0)
            while True:
                moment += 100.0
                ledger.claim(new(time=moment), None, at(moment))
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
        moment += 100.0
        ledger.claim(new(time=moment), None, at(moment))
        say("interrupted", db.in_transaction)
    say("still", name_of(ledger.claim(new(b"other"), None, at(100))) is not None)


if __name__ == "__main__":
    known = {
        work.__name__: work
        for work in (
            *(
                race,
                claim_many,
                fork,
                fork_with_spares,
                fork_and_end,
                fork_among_threads,
                interrupt,
            ),
            *(lock, lock_six_seconds, fill, read_only),
        )
    }
    known[sys.argv[1]](Path(sys.argv[2]))
