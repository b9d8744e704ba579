"""Which ledger an address names."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from retry_guard_ledgers._memory import MemoryLedger
from retry_guard_ledgers._protocol import LedgerError, LedgerURLError
from retry_guard_ledgers._sqlite import SQLiteLedger

VARIABLE = "RETRY_GUARD_LEDGER"
VALID = "sqlite:///PATH (sqlite:////PATH from the root), memory://"

OpenedLedger = MemoryLedger | SQLiteLedger
"""Every kind of ledger that `open_ledger` returns; more are to come."""


class NoLedgerError(LedgerURLError):
    """The address is right, but nothing was recorded there yet."""


def open_ledger(url: str | None = None, *, make: bool = True) -> OpenedLedger:
    """Open the ledger that `url` names; else `RETRY_GUARD_LEDGER`, else the user's own file.

    `sqlite:///guard.db` is relative to the current folder, `sqlite:////var/lib/guard.db` starts at
    the root, `sqlite:///~/guard.db` at home; `memory://` is lost with the process. The user's own
    file is `agent-retry-guard/ledger.db` under `XDG_STATE_HOME` (default `~/.local/state`), and
    only that folder is made where it is missing. Raises `LedgerURLError` for an address that names
    no ledger, `LedgerError` for a ledger that cannot be used, and, unless it may `make` a file,
    `NoLedgerError` where there is none.
    """
    url = url if url is not None else os.environ.get(VARIABLE) or None
    if url is None:
        return _sqlite(_own_file() if make else _own_path(), make=make)
    scheme, rest = _parts(url)
    return MemoryLedger() if scheme == "memory" else _sqlite(_path(url, rest), make=make)


def _parts(url: str) -> tuple[str, str]:
    """Return which kind of ledger an address names, and what follows. Raises `LedgerURLError`."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in ("sqlite", "memory"):
        said = masked(url) or "an empty address"
        raise LedgerURLError(f"{said} names no kind of ledger: give one of {VALID}")
    if scheme == "memory" and rest:
        raise LedgerURLError(f"{masked(url)}: nothing may follow memory://")
    return scheme, rest


def _sqlite(path: Path, *, make: bool) -> SQLiteLedger:
    if not make and not os.path.lexists(path) and (path.parent.is_dir() or path == _own_path()):
        raise NoLedgerError(f"there is no ledger at {path} yet: the first guarded call makes it")
    return SQLiteLedger(path)


def ledger_url(url: str | None = None) -> str:
    """Return the address that `open_ledger` would open, to be shown: no password stands in it."""
    url = url if url is not None else os.environ.get(VARIABLE) or None
    return f"sqlite:///{_own_path()}" if url is None else masked(url)


def beside(url: str | None = None) -> Path | None:
    """Return the folder for what is kept beside a ledger; None: it is on no disk of this machine.

    It is named like the ledger's file, with `.servers` after it. It need not exist. Raises
    `LedgerURLError` for an address that names no ledger.
    """
    url = url if url is not None else os.environ.get(VARIABLE) or None
    scheme, rest = ("sqlite", "") if url is None else _parts(url)
    if scheme == "memory":
        return None
    path = _own_path() if url is None else _path(url, rest)
    return path.with_name(f"{path.name}.servers")


def masked(url: str) -> str:
    """Return an address as it may be shown: without passwords, on one line."""
    hidden = re.sub(r"(://[^/?#:@\s]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    hidden = re.sub(r"(?i)\b(pass\w*|pwd|secret|token)=[^&#]*", r"\1=***", hidden)
    return ascii(hidden) if not hidden.isprintable() else hidden


def _path(url: str, rest: str) -> Path:
    """Return the file that a `sqlite://` address names."""
    if not rest.startswith("/") or rest in ("/", "/:memory:"):
        raise LedgerURLError(f"{masked(url)} names no file: give sqlite:///PATH, or memory://")
    if "?" in rest or "#" in rest:
        raise LedgerURLError(
            f"{masked(url)}: no options are known (a ? in a path is %3F, # is %23)"
        )
    path = unquote(rest[1:])
    return Path(path).expanduser() if path.startswith("~") else Path(path)


def _own_path() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return state / "agent-retry-guard" / "ledger.db"


def _own_file() -> Path:
    """Return the user's own file, in a folder that only the user can open."""
    path = _own_path()
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"the folder {path.parent} cannot be made ({error.strerror}): set {VARIABLE} to "
            "a ledger elsewhere"
        ) from error
    return path
