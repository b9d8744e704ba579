"""What benchmarks share: records, the raw table that they are measured against, results."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from retry_guard_core import Record
from retry_guard_ledgers import Action
from retry_guard_ledgers._rows import COLUMNS
from retry_guard_ledgers._session import CACHE, CHECKPOINT, Level

DONE = b'{"id":"ch_1"}'

numbers = count()


@dataclass(frozen=True)
class Result:
    """What was measured: a ratio, or a number of some unit.

    `value`: None if it could not be measured, and `note` says why. `target`: what it must not
    exceed; None: it is there for comparison.
    """

    name: str
    value: float | None
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is met, or could not be asked."""
        return self.value is None or self.target is None or self.value <= self.target

    def line(self) -> str:
        """The result as it is printed."""
        if self.value is None:
            return f"SKIPPED  {self.name}: {self.note}"
        word = "" if self.target is None else "pass" if self.met else "FAIL"
        target = "" if self.target is None else f"(target {self.target:.2f})"
        return f"{word:7}  {self.value:7.3f}  {target:15}  {self.name}{self.note}"


def report(results: Iterable[Result]) -> bool:
    """Print each result as it comes; return whether all targets are met."""
    met = True
    for result in results:
        print(result.line(), flush=True)
        met = met and result.met
    return met


def draft(identity: bytes | None = None, turn: str = "turn-1") -> Record:
    """A record as a guard makes it."""
    number = next(numbers)
    action = Action(
        scope="acme",
        id=os.urandom(8).hex(),
        identity=identity or os.urandom(32),
        resource="charge",
        arguments=b'{"customer":"c%d","amount":5,"note":"' % number + b"x" * 100 + b'"}',
        call_ids=(f"call_{number}",),
        contract="0" * 64,
    )
    return Record(
        tool="charge",
        turn=turn,
        content=os.urandom(32),
        key=os.urandom(16).hex(),
        owner=os.urandom(8).hex(),
        claimed=1e9,
        lease=1e9 + 30,
        sends=(1e9,),
        about=action,
    )


def settled(record: Record) -> Record:
    """The record as it is saved when it is done."""
    return replace(record, state="done", ended=1e9 + 1, settled_at=1e9 + 1, value=DONE)


class Raw:
    """A table without an index, with rows as large as a ledger's, and the same pragmas."""

    def __init__(self, path: Path, level: Level) -> None:
        """Make it."""
        self.db = sqlite3.connect(path, isolation_level=None)
        for pragma in (
            "journal_mode = wal",
            f"synchronous = {level}",
            f"cache_size = {CACHE}",
            f"wal_autocheckpoint = {CHECKPOINT}",
        ):
            self.db.execute(f"PRAGMA {pragma}")
        self.db.execute(f"CREATE TABLE raw (seq INTEGER PRIMARY KEY, {', '.join(COLUMNS)})")
        places = ", ".join("?" * len(COLUMNS))
        self.insert = f"INSERT INTO raw ({', '.join(COLUMNS)}) VALUES ({places})"  # noqa: S608 - constants

    def two(self, rows: list[tuple[Any, ...]]) -> None:
        """Insert each row and update it: two commits."""
        for row in rows:
            seq = self.db.execute(self.insert, row).lastrowid
            self.db.execute(
                "UPDATE raw SET state = ?, value = ?, settled_at = ? WHERE seq = ?",
                ("done", DONE, 1e9, seq),
            )

    def one(self, rows: list[tuple[Any, ...]]) -> None:
        """Insert each row: one commit."""
        for row in rows:
            self.db.execute(self.insert, row)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def ratio_of(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> float:
    """Return the ratio of the medians of rounds that take turns; each returns its own seconds."""
    _ = ours(), theirs()  # once without counting
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return median(mine for mine, _ in pairs) / median(other for _, other in pairs)
