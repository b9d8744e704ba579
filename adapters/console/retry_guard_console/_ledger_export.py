"""What `retry-guard ledger export` does: records for other programs, a line of JSON each."""

import argparse
import json
import math
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from retry_guard_console._facts import facts, last_sent, plain
from retry_guard_console._ledger_found import listed, opened
from retry_guard_console._outputs import told
from retry_guard_console._over import is_of, refuse_other
from retry_guard_console._shared import USAGE, WELL, refuse
from retry_guard_core import Record

_GIVE = "give one like 2026-11-30T12:00:00Z, or seconds of the epoch"
_DIGITS = 8
_LEAST = 1e8
"""Seconds of the epoch are more; what is less, such as a year, was meant otherwise."""


def since(text: str) -> float:
    """Return a time in seconds since the epoch, as argparse calls it."""
    try:
        seconds = _seconds(text) if _is_date(text) else float(text)
    except ValueError:
        seconds = _seconds(text)
    if not math.isfinite(seconds) or 0 < abs(seconds) < _LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: {_GIVE}")
    return seconds


def _is_date(text: str) -> bool:
    """Whether these are the eight digits of a date."""
    return len(text) == _DIGITS and text.isdecimal()


def _seconds(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: {_GIVE}") from None


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

    The file is there whole or not at all; what is none, such as a pipe, is written to as it is.
    `own`: the ledger's file, which is not written over.
    """
    if path is None:
        yield sys.stdout
        return
    with told("out", path):
        if own is not None and is_of(own, path):
            raise ValueError("it is a file of the ledger itself")
        if path.is_symlink():
            raise ValueError("it is a symbolic link")
        refuse_other(path)
        is_new = not path.exists() or path.is_file()
        with _beside(path) if is_new else path.open("w", encoding="utf-8") as file:
            yield file


@contextmanager
def _beside(path: Path) -> Generator[TextIO]:
    """Give a draft, which takes the place of the file once it is written."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            if os.name != "nt":
                os.fchmod(file.fileno(), 0o600)
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
