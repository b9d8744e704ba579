"""What a ledger costs, as ratios to raw SQLite statements of the same run on the same disk.

Ours and theirs take turns in short rounds, and the medians of the rounds are compared, so that
what else the machine does falls on both.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sides import DONE, Raw, Result, draft, numbers, ratio_of, seconds, settled

from retry_guard import Contract, Guard
from retry_guard_core import Record
from retry_guard_ledgers import SQLiteLedger, about
from retry_guard_ledgers._rows import whole
from retry_guard_ledgers._statements import INSERT
from retry_guard_outcomes import classify

CALLS = 10  # in one round: few, so that most rounds run without a pause
TRACED = 200  # calls under strace
SMALL, LARGE = 1_000, 100_000
RARE, OFTEN = 10, 10_000


def measure(rounds: int) -> Iterator[Result]:
    """Measure everything, one result after the other."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        yield alone(folder, rounds)
        yield guarded(folder, rounds)
        yield guarded_durably(folder, rounds)
        yield syncs_per_call(folder)
        yield by_size(folder, rounds)
        yield by_repeats(folder, rounds)


def alone(folder: Path, rounds: int) -> Result:
    """The ledger alone: claim, save, deliver."""
    kept = SQLiteLedger(folder / "alone.db", synchronous="normal")
    raw = Raw(folder / "alone.raw", "normal")

    def ours() -> float:
        batch = [(record, settled(record)) for record in (draft() for _ in range(CALLS))]
        return seconds(lambda: through(batch))

    def through(batch: list[tuple[Record, Record]]) -> None:
        for record, done in batch:
            kept.claim(record, None, now)
            kept.save(done)
            kept.deliver("acme", about(record).id, "turn-1")

    def theirs() -> float:
        rows = [whole(draft()) for _ in range(CALLS)]
        return seconds(lambda: raw.two(rows))

    now = kept.now()
    ratio = ratio_of(rounds, ours, theirs)
    kept.close()
    return Result("claim + save + deliver at NORMAL / two raw statements", ratio, 3.0)


def guarded(folder: Path, rounds: int) -> Result:
    """The whole path of a call through `Guard`, at synchronous NORMAL."""
    guard, kept = guard_on(SQLiteLedger(folder / "guarded.db", synchronous="normal"))
    raw = Raw(folder / "guarded.raw", "normal")
    call(guard)
    rows = [whole(kept.list()[0])] * CALLS
    ratio = ratio_of(rounds, lambda: calls(guard), lambda: seconds(lambda: raw.two(rows)))
    kept.close()
    return Result("guarded call at NORMAL / two raw statements", ratio, 3.0)


def guarded_durably(folder: Path, rounds: int) -> Result:
    """The same as it is by default, where what is claimed is on the disk before it is sent."""
    guard, kept = guard_on(SQLiteLedger(folder / "durable.db"))
    raw = Raw(folder / "durable.raw", "full")
    call(guard)
    rows = [whole(kept.list()[0])] * CALLS
    ratio = ratio_of(rounds, lambda: calls(guard), lambda: seconds(lambda: raw.one(rows)))
    kept.close()
    return Result("guarded call at FULL / one raw durable insert", ratio, 2.0)


def guard_on(kept: SQLiteLedger) -> tuple[Guard, SQLiteLedger]:
    """A guard with one tool that takes a key."""
    contract = Contract(tool="charge", key={"param": "idempotency_key", "retention": 86400})
    return Guard(kept, [contract], classify=classify), kept


def calls(guard: Guard) -> float:
    """One round of calls; return how long they took."""
    return seconds(lambda: [call(guard) for _ in range(CALLS)])


def call(guard: Guard) -> object:
    """One guarded call of a tool that answers at once."""
    arguments = {"customer": f"c{next(numbers)}", "amount": 5, "note": "x" * 100}
    outcome = guard.call(
        "charge", arguments, send=answer, scope="acme", turn="turn-1", call_id="call_1"
    )
    return outcome.unwrap()


def answer(_arguments: dict[str, Any], _extra: dict[str, str]) -> dict[str, str]:
    """The tool."""
    return {"id": "ch_1"}


def syncs_per_call(folder: Path) -> Result:
    """How often a call that sends once makes the disk write, counted by strace."""
    name = "fdatasync and fsync of one guarded call"
    if shutil.which("strace") is None:
        return Result(name, None, 1.05, "strace is not installed")
    few, many = (traced(folder / f"traced-{n}.db", n) for n in (20, 20 + TRACED))
    return Result(name, (many - few) / TRACED, 1.05)


def traced(path: Path, number: int) -> int:
    """The syncs of a process that opens a ledger, makes so many calls, and closes it."""
    log = path.with_suffix(".strace")
    words = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(log)]
    subprocess.run([*words, sys.executable, __file__, str(path), str(number)], check=True)
    return len(re.findall(r"\bf(?:data)?sync\(", log.read_text(encoding="utf-8")))


def by_size(folder: Path, rounds: int) -> Result:
    """Claims of new actions in a large and in a small ledger."""
    small = filled(folder / "small.db", (draft() for _ in range(SMALL)))
    large = filled(folder / "large.db", (draft() for _ in range(LARGE)))
    ratio = ratio_of(rounds, lambda: claims(large), lambda: claims(small))
    return Result(f"claim at {LARGE:,} records / at {SMALL:,}", ratio, 1.3)


def by_repeats(folder: Path, rounds: int) -> Result:
    """Claims of an action that was done before, in another turn each time."""
    rare = filled(folder / "rare.db", (draft(b"same", f"{n}") for n in range(RARE)))
    often = filled(folder / "often.db", (draft(b"same", f"{n}") for n in range(OFTEN)))
    ratio = ratio_of(rounds, lambda: looks(often), lambda: looks(rare))
    return Result(f"claim of what was done {OFTEN:,} times / {RARE} times", ratio, 1.3)


def claims(kept: SQLiteLedger) -> float:
    """One round of claims of new actions."""
    records, now = [draft() for _ in range(CALLS)], kept.now()
    return seconds(lambda: [kept.claim(record, None, now) for record in records])


def looks(kept: SQLiteLedger) -> float:
    """One round of claims that are answered by what ended."""
    records, now = [draft(b"same", "new") for _ in range(CALLS)], kept.now()
    return seconds(lambda: [kept.claim(record, None, now) for record in records])


def filled(path: Path, records: Iterable[Record]) -> SQLiteLedger:
    """A ledger in which these are recorded, done and delivered, each after the one before."""
    kept = SQLiteLedger(path, synchronous="normal")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    for record in records:
        db.execute(
            "UPDATE records SET near = 0 WHERE scope = 'acme' AND identity = ? AND near = 1",
            (about(record).identity,),
        )
        seq = db.execute(INSERT, whole(record)).lastrowid
        db.execute(
            "UPDATE records SET n = seq, state = 'done', delivered = 1, value = ? WHERE seq = ?",
            (DONE, seq),
        )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return kept


if __name__ == "__main__":
    traced_guard, traced_ledger = guard_on(SQLiteLedger(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        call(traced_guard)
    traced_ledger.close()
