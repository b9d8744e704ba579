"""What proxies keep beside the ledger, for other processes to read: files of their owner alone.

In the folder, for each server:

NAME.seen.json        its tools, and what counts for each of them
NAME.trust.json       which of the contracts that it states are trusted
NAME.observed.jsonl   what a guard would have done, a line each (the former ones: `.old`)
"""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from retry_guard_core import GuardError

MOST = 4_000_000
"""Bytes of a file of observations, before it becomes the former one."""
_SEEN, _TRUST, _OBSERVED = ".seen.json", ".trust.json", ".observed.jsonl"
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class KeptError(GuardError):
    """A file beside the ledger cannot be read or written. The message names it, and says why."""


class Kept:
    """What is kept of one server. `server`: its name in the folder, such as `npx:1f0c…`."""

    def __init__(self, folder: Path, server: str) -> None:
        """Neither read nor write anything yet."""
        self.folder, self.server = folder, server
        self._stem = re.sub(r"[^\w.\-]", "_", server)

    def seen(self) -> dict[str, Any]:
        """Return what was last seen of its tools; empty where nothing was. Raises `KeptError`."""
        return _read(self.folder / f"{self._stem}{_SEEN}")

    def see(self, tools: dict[str, Any], now: float) -> None:
        """Keep what is seen of its tools. Raises `KeptError`."""
        _write(
            self.folder / f"{self._stem}{_SEEN}",
            {"server": self.server, "at": now, "tools": tools},
        )

    def trusted(self) -> dict[str, Any]:
        """Return what is trusted; empty where nothing is. Raises `KeptError`."""
        return _read(self.folder / f"{self._stem}{_TRUST}")

    def trust(self, name: str, tools: dict[str, Any], now: float) -> Path:
        """Keep what is trusted, in place of what was; return where. Raises `KeptError`."""
        path = self.folder / f"{self._stem}{_TRUST}"
        _write(path, {"server": self.server, "name": name, "at": now, "tools": tools})
        return path

    def observe(self, line: dict[str, Any]) -> None:
        """Add an observation. Raises `KeptError`."""
        path = self.folder / f"{self._stem}{_OBSERVED}"
        text = json.dumps({"server": self.server, **line}) + "\n"
        with _told(path):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                if path.lstat().st_size > MOST:
                    path.replace(f"{path}.old")
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS
            handle = os.open(path, flags, 0o600)
            with os.fdopen(handle, "wb", buffering=0) as file:
                file.write(text.encode())


def all_kept(folder: Path) -> Iterator[Kept]:
    """Yield every server of which something was seen or is trusted. Raises `KeptError`."""
    names: set[str] = set()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        name = _read(path).get("server")
        if isinstance(name, str):
            names.add(name)
    yield from (Kept(folder, name) for name in sorted(names))


def observed(folder: Path) -> list[dict[str, Any]]:
    """Return all observations, the oldest first; half a line is left out. Raises `KeptError`."""
    found: list[dict[str, Any]] = []
    for end in (f"{_OBSERVED}.old", _OBSERVED):
        for path in sorted(folder.glob(f"*{end}")) if folder.is_dir() else ():
            found += _lines(path)
    return sorted(found, key=lambda one: one["at"])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in _bytes(path).splitlines():
        try:
            one: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict) and isinstance(one.get("at"), int | float):  # pyright: ignore[reportUnknownMemberType] - of any JSON
            yield one  # pyright: ignore[reportUnknownVariableType] - (the same)


class _told:  # noqa: N801 - it is used like a function
    """Makes what the system refuses one line that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise KeptError(f"{self._path}: {error.strerror or error}") from error


def _bytes(path: Path) -> bytes:
    with _told(path):
        handle = os.open(path, os.O_RDONLY | _FLAGS)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode) or mode & 0o022:
                raise KeptError(f"{path}: others can write it: remove it, or chmod 600")
            return file.read()


def _read(path: Path) -> dict[str, Any]:
    try:
        path.lstat()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KeptError(f"{path}: {error.strerror}") from error
    try:
        found: Any = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        raise KeptError(f"{path}: is damaged: remove it") from None
    if not isinstance(found, dict):
        raise KeptError(f"{path}: is damaged: remove it")
    tools: Any = found.get("tools")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any JSON
    return {**found, "tools": tools if isinstance(tools, dict) else {}}  # pyright: ignore[reportUnknownVariableType] - (the same)


def _write(path: Path, value: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    with _told(path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
