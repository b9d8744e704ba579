"""What a command may write over: what the same option wrote before, and nothing else."""

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

_ENDS = ("-wal", "-shm", "-journal")
"""How SQLite names the files beside a database."""
_LONGEST = 1 << 24


def refuse_other(path: Path, begins: str = "{") -> None:
    """Raise `ValueError` where a file holds anything but what begins so, such as a ledger.

    What is no file, such as a pipe, holds nothing; whether it can be opened is not looked at.
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(found.st_mode):
        return
    if any(path.name.endswith(end) and _beside(path, end) for end in _ENDS):
        raise ValueError("it is a file of a ledger")
    if found.st_size and not _begins(path, begins):
        raise ValueError("it holds something else, which would be lost")


def is_of(ledger: str | os.PathLike[str], path: Path) -> bool:
    """Whether a path leads to one of a ledger's files, by whatever name. None is opened for it.

    To close a file of SQLite's would drop the locks that this process has on it.
    """
    for end in ("", *_ENDS):
        with suppress(OSError, ValueError):  # what is not there is not written over
            if path.samefile(f"{os.fspath(ledger)}{end}"):
                return True
    return False


def _beside(path: Path, end: str) -> bool:
    return os.path.lexists(str(path).removesuffix(end))


def _begins(path: Path, begins: str) -> bool:
    with path.open("rb") as file:
        first = file.readline(_LONGEST)
    if begins != "{":
        return first.lstrip().lower().startswith(begins.encode())
    try:
        line: Any = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and "contracts" not in line
