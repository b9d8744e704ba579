"""What `retry-guard ledger export` does: records for other programs, a line of JSON each."""

import argparse
import json
import math
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from retry_guard_console._facts import facts, last_sent, plain
from retry_guard_console._ledger_found import listed, opened
from retry_guard_console._outputs import told
from retry_guard_console._shared import USAGE, WELL, refuse
from retry_guard_core import Record

_OWN = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_LEDGERS = ("", "-wal", "-shm", "-journal")
"""How the names of the files of a SQLite ledger end."""


def since(text: str) -> float:
    """Return a time in seconds since the epoch, as argparse calls it."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = _seconds(text)
    if not math.isfinite(seconds):
        raise argparse.ArgumentTypeError(f"{text!r} is no time")
    return seconds


def _seconds(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        msg = f"{text!r} is no time: give one like 2026-11-30T12:00:00Z, or seconds of the epoch"
        raise argparse.ArgumentTypeError(msg) from None


def export(given: argparse.Namespace) -> int:
    """Write the records that were asked for, the oldest first; return the exit code."""
    with opened(given) as ledger:
        records, wrong = listed(ledger, given)
        own: str | os.PathLike[str] | None = getattr(ledger, "path", None)
    with _output(given.out, own) as file:
        for record in records:
            if _is_wanted(record, given):
                file.write(json.dumps(facts(record), default=plain) + "\n")
    for text in wrong:
        refuse("ledger export", text)
    return USAGE if wrong else WELL


def _is_wanted(record: Record, given: argparse.Namespace) -> bool:
    asked = record.asked_at if record.asked_at not in (None, math.inf) else 0.0
    last = max(last_sent(record), record.settled_at, asked or 0.0)
    return given.tool in (None, record.tool) and (given.since is None or last >= given.since)


@contextmanager
def _output(path: Path | None, own: str | os.PathLike[str] | None) -> Generator[TextIO]:
    """Give what is written to: standard output, or a file that its owner alone can read.

    `own`: the ledger's file, which is not written over.
    """
    if path is None:
        yield sys.stdout
        return
    with (
        told("out", path),
        os.fdopen(os.open(path, _OWN, 0o600), "w", encoding="utf-8", newline="\n") as file,
    ):
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        if own is not None and _is_of(own, file):
            raise ValueError("it is a file of the ledger itself")
        if is_plain:
            file.truncate()
        if is_plain and os.name != "nt":
            os.fchmod(file.fileno(), 0o600)
        yield file


def _is_of(ledger: str | os.PathLike[str], file: TextIO) -> bool:
    """Whether it is one of the ledger's files, by whatever name it was opened."""
    opened_as = os.fstat(file.fileno())
    for end in _LEDGERS:
        with suppress(FileNotFoundError):
            if os.path.samestat(Path(f"{os.fspath(ledger)}{end}").stat(), opened_as):
                return True
    return False
