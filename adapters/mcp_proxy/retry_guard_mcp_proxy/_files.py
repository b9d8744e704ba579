"""Files beside the ledger: of their owner alone; what others can have made is not read."""

import json
import os
import stat
from math import isfinite
from pathlib import Path
from typing import Any

from retry_guard_core import GuardError
from retry_guard_mcp_proxy._messages import Message, is_object

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FLAGS
"""What is no file, such as a pipe, is not waited for."""


class KeptError(GuardError):
    """A file beside the ledger cannot be read or written. The message names it, and says why."""


class told:  # noqa: N801 - it is used like a function
    """Makes what the system refuses one line that names the file."""

    def __init__(self, path: Path) -> None:
        """`path`: the file."""
        self._path = path

    def __enter__(self) -> None:
        """Let it be tried."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise `KeptError` for an `OSError`."""
        if isinstance(error, OSError):
            raise KeptError(f"{self._path}: {error.strerror or error}") from error


def content(path: Path) -> bytes:
    """Return what a file holds. Raises `KeptError`, also for what others may have written."""
    with told(path):
        _refuse_others(path.parent, path.parent.lstat())
        with os.fdopen(os.open(path, _READING), "rb") as file:
            found = os.fstat(file.fileno())
            _refuse_others(path, found)
            if not stat.S_ISREG(found.st_mode):
                raise KeptError(f"{path}: is no file: remove it")
            return file.read()


def _refuse_others(path: Path, found: os.stat_result) -> None:
    """Raise `KeptError` for what another user than its reader, or root, may have made."""
    own = getattr(os, "geteuid", lambda: found.st_uid)()
    if found.st_uid not in (own, 0):
        raise KeptError(f"{path}: belongs to another user, so it is not believed: remove it")
    if stat.S_ISLNK(found.st_mode):
        raise KeptError(f"{path}: is a link, so it is not believed: remove it")
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise KeptError(f"{path}: others can write it: remove it, or chmod go-w")


def document(path: Path) -> Message:
    """Return the JSON object in a file; empty where there is no file. Raises `KeptError`."""
    try:
        path.lstat()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KeptError(f"{path}: {error.strerror}") from error
    try:
        found: Any = json.loads(content(path))
    except (ValueError, RecursionError):
        raise KeptError(f"{path}: is damaged: remove it") from None
    if not is_object(found):
        raise KeptError(f"{path}: is damaged: remove it")
    return found


def write(path: Path, value: Message) -> None:
    """Write a file whole or not at all. Raises `KeptError`, also in a folder of others."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    with told(path):
        make_folder(path.parent)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def append(path: Path, text: str) -> None:
    """Add text to a file, at once. Raises `KeptError`, also in a folder of others."""
    with told(path):
        make_folder(path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _FLAGS
        with os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0) as file:
            file.write(text.encode())


def make_folder(folder: Path) -> None:
    """Make a folder of its owner alone, unless there is one. Raises `KeptError`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    _refuse_others(folder, folder.lstat())


def moment_of(value: object) -> float | None:
    """Return a time in seconds, as it stands in a file; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if isfinite(seconds) else None
