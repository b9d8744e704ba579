"""What proxies keep beside the ledger, for other processes to read: files of their owner alone.

In the folder, for each server:

NAME.seen.json        its tools, and what counts for each of them
NAME.trust.json       which of the contracts that it states are trusted
NAME.observed.jsonl   what a guard would have done, a line each (the former ones: `.old`)
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retry_guard_mcp_proxy._files import (
    KeptError,
    append,
    content,
    document,
    moment_of,
    told,
    write,
)
from retry_guard_mcp_proxy._messages import Message, is_object, object_in

__all__ = ["MOST", "Kept", "KeptError", "Sheet", "Stamp", "all_kept", "observed"]

MOST = 4_000_000
"""Bytes of a file of observations, before it becomes the former one."""
_SEEN, _TRUST, _OBSERVED = ".seen.json", ".trust.json", ".observed.jsonl"

Stamp = tuple[int, ...] | None
"""Another one where a file may be another one; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What stands in a file of a server. `name`: what an operator calls it; `at`: when, in seconds.

    `mode`: of the proxy that has seen them. `tools`: what is said of each; `odd`: those of which
    nothing is said that can be read.
    """

    server: str
    name: str
    at: float
    mode: str
    tools: dict[str, Message]
    odd: tuple[str, ...]

    def unread(self) -> tuple[str, ...]:
        """Return the tools of which a file of trust does not say in what there is trust."""
        from retry_guard_mcp_proxy._trust import pins_in  # noqa: PLC0415 - slow to import

        return pins_in(self)[1]


class Kept:
    """What is kept of one server. `server`: its name in the folder, such as `npx:1f0c…`."""

    def __init__(self, folder: Path, server: str, mode: str = "guard") -> None:
        """Neither read nor write anything yet. `mode`: of the proxy that keeps it."""
        self.folder, self.server, self._mode = folder, server, mode
        self._stem = re.sub(r"[^\w.\-]", "_", server)
        self._trust = folder / f"{self._stem}{_TRUST}"  # made once: each guarded call looks there

    def seen(self) -> Sheet:
        """Return what was last seen of its tools; empty where nothing was. Raises `KeptError`."""
        return _sheet(self.folder / f"{self._stem}{_SEEN}")

    def see(self, tools: dict[str, Any], now: float) -> None:
        """Keep what is seen of its tools. Raises `KeptError`."""
        path = self.folder / f"{self._stem}{_SEEN}"
        write(path, {"server": self.server, "at": now, "mode": self._mode, "tools": tools})

    def trusted(self) -> Sheet:
        """Return what is trusted; empty where nothing is. Raises `KeptError`."""
        return _sheet(self._trust)

    def trust(self, name: str, tools: dict[str, Any], now: float) -> Path:
        """Keep what is trusted, in place of what was; return where. Raises `KeptError`."""
        write(self._trust, {"server": self.server, "name": name, "at": now, "tools": tools})
        return self._trust

    def stamp(self) -> Stamp:
        """Return what tells whether what is trusted may have changed. Raises `KeptError`."""
        with told(self._trust):
            try:
                found = os.lstat(self._trust)
            except FileNotFoundError:  # nothing is trusted
                return None
            return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def observe(self, line: dict[str, Any]) -> None:
        """Add an observation. Raises `KeptError`."""
        path = self.folder / f"{self._stem}{_OBSERVED}"
        with told(path), suppress(FileNotFoundError):  # it is the first
            if path.lstat().st_size > MOST:
                path.replace(f"{path}.old")
        append(path, json.dumps({"server": self.server, **line}) + "\n")


def all_kept(folder: Path) -> Iterator[Kept]:
    """Yield every server of which something was seen or is trusted. Raises `KeptError`."""
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else ()
    names = {_sheet(path).server for path in paths}
    yield from (Kept(folder, name) for name in sorted(names - {""}))


def observed(folder: Path) -> list[dict[str, Any]]:
    """Return all observations, the oldest first; half a line is left out. Raises `KeptError`."""
    found: list[dict[str, Any]] = []
    for end in (f"{_OBSERVED}.old", _OBSERVED):
        for path in sorted(folder.glob(f"*{end}")) if folder.is_dir() else ():
            found += _lines(path)
    return sorted(found, key=lambda one: one["at"])


def _lines(path: Path) -> Iterator[Message]:
    for line in content(path).splitlines():
        with suppress(ValueError, RecursionError):  # half a line
            one: Any = json.loads(line)
            if is_object(one) and moment_of(one.get("at")) is not None:
                yield one


def _sheet(path: Path) -> Sheet:
    found = document(path)
    tools: dict[str, Any] = object_in(found, "tools")
    return Sheet(
        server=_text(found.get("server")),
        name=_text(found.get("name")),
        at=moment_of(found.get("at")) or 0.0,
        mode=_text(found.get("mode")),
        tools={name: one for name, one in tools.items() if is_object(one)},
        odd=tuple(sorted(name for name, one in tools.items() if not is_object(one))),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
