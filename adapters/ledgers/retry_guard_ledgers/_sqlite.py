"""A ledger in one SQLite file, which any number of threads and processes of a machine share."""

import builtins
import logging
import os
import sqlite3
from pathlib import Path
from typing import Literal

from retry_guard_core import Now, Record
from retry_guard_ledgers import _verbs
from retry_guard_ledgers._anchors import is_any_open, shared_anchor
from retry_guard_ledgers._clock import DRIFT, Clocks, Timekeeper, machine_clocks
from retry_guard_ledgers._files import exists, make
from retry_guard_ledgers._network import network_file_system
from retry_guard_ledgers._protocol import Answer
from retry_guard_ledgers._rules import KEEP_RESULT, Finding, check
from retry_guard_ledgers._sessions import Options, Sessions

_log = logging.getLogger("retry_guard")

LOOK_AGAIN = 1.0
"""Seconds after which a claim asks again whether the shared anchor has moved."""


class SQLiteLedger:
    """A `Ledger` in a SQLite file, made where there is none, in a folder that exists.

    Whatever must be durable is on the disk on return: one sync for a call that sends once.
    Raises `LedgerError` for a file that is no ledger, cannot be written, is damaged, or was made
    by a newer version; nothing is ever repaired or begun anew by itself.
    """

    durable = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["full", "normal"] = "full",
        busy: float = 8.0,
        vfs: str | None = None,
        clocks: Clocks | None = None,
    ) -> None:
        """Open the ledger, or make it.

        `synchronous="normal"`: a power cut may lose the latest records, a crash of the process
        none. `busy`: seconds to wait for another process's lock. `vfs`: which of SQLite's file
        systems to use. `clocks`: raw clocks to read instead of the machine's.
        """
        self.path = Path(os.path.realpath(Path(path).parent)) / Path(path).name
        network = network_file_system(self.path.parent)
        options = Options(busy, synchronous == "full", vfs, "delete" if network else "wal")
        if not exists(self.path):
            make(self.path, vfs, options.journal)
        self._sessions = Sessions(self.path, options)
        if self._sessions.journal != "wal":
            _log.warning(
                "the ledger %s is on %s: no write-ahead log, so every record takes longer; "
                "better keep it on a local disk",
                self.path,
                network or "a file system without shared memory",
            )
        self.secret: bytes = self._sessions.run(False, _secret)  # noqa: FBT003 - see Sessions.run
        self._time = Timekeeper(clocks or machine_clocks())
        self._agree()
