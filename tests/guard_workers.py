"""What a child process of a test does with a guard: a spawned one must be able to import it."""

from multiprocessing.synchronize import Barrier
from pathlib import Path

from guards import ARGUMENTS, PLAIN, QUICK, Args, Extra
from retry_guard import Guard
from retry_guard_ledgers import SQLiteLedger
from retry_guard_outcomes import classify


def call_once(path: str, barrier: Barrier, log: str) -> None:
    def send(arguments: Args, extra: Extra) -> str:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write("effect\n")
        return "run 1"

    guard = Guard(SQLiteLedger(path), [PLAIN], classify=classify, policy=QUICK)
    barrier.wait()
    outcome = guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    assert outcome.unwrap() == "run 1"
