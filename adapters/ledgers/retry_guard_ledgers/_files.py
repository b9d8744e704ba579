"""The file of a SQLite ledger: made whole or not at all, and looked at before it is trusted."""

import os
import secrets
import sqlite3
import stat
from pathlib import Path

from retry_guard_ledgers._failures import failure
from retry_guard_ledgers._forks import connected
from retry_guard_ledgers._protocol import LedgerError, LedgerURLError
from retry_guard_ledgers._schema import APPLICATION_ID, CREATE, VERSION

_SHORTEST = 512  # bytes: SQLite takes anything shorter for a new database


def whole_path(path: str | os.PathLike[str]) -> Path:
    """Return the path with its folder resolved, but not the name of the file itself."""
    given = Path(path)
    if "\0" in os.fspath(given) or not given.name:
        raise LedgerURLError(f"{str(given)!r} names no file: give the path of one")
    return Path(os.path.realpath(given.parent)) / given.name


def exists(path: Path) -> bool:
    """Whether a ledger can be opened at the path. `LedgerError` if something else is there."""
    if not path.parent.is_dir():
        raise LedgerURLError(
            f"the folder {path.parent} does not exist: make it, or give another path"
        )
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be reached ({error.strerror})") from error
    if stat.S_ISLNK(found.st_mode):
        raise LedgerError(f"{path} is a symbolic link: give the path of the file itself")
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"{path} is no file: give the path of one, or of one to be made")
    if found.st_size < _SHORTEST:
        raise LedgerError(
            f"{path} is empty or cut short, so it is no ledger: restore a copy, or remove it to "
            "start anew"
        )
    return True


def make(path: Path, vfs: str | None, journal: str) -> None:
    """Make a new ledger, readable by its owner only; one that came first is left as it is.

    It is written under another name and then linked, so nobody ever sees a part of it, and of
    processes that start at once all use the same one.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.fchmod(handle, 0o600)  # whatever the umask took away
        os.close(handle)
        _fill(draft, vfs, journal)
        os.link(draft, path)
        _sync_folder(path.parent)
    except FileExistsError:
        pass
    except sqlite3.Error as error:
        raise failure(path, error) from error
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be made ({error.strerror}): its folder must be writable "
            "and on a file system with hard links"
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{draft}{suffix}").unlink(missing_ok=True)


def _fill(draft: Path, vfs: str | None, journal: str) -> None:
    with connected(draft, address(draft, vfs)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}").fetchall()
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(f"BEGIN; {CREATE}")
        db.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_bytes(32),))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def address(path: Path, vfs: str | None) -> str:
    """Return the URI by which SQLite opens a file that exists, and makes none."""
    return f"{path.as_uri()}?mode=rw{f'&vfs={vfs}' if vfs else ''}"


def verify(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no ledger, or one that a newer version made."""
    program = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if program != APPLICATION_ID:
        raise LedgerError(f"{path} is the database of another program: give another path")
    if version != VERSION:
        raise LedgerError(
            f"the ledger {path} has schema {version}, and this version knows schema {VERSION}: "
            "upgrade agent-retry-guard"
        )
