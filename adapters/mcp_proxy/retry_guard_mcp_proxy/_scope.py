"""For whom the tools act, where nobody says it: the user of the system, and this very server."""

import getpass
import hashlib
import os
from collections.abc import Sequence
from pathlib import PurePath


def scope_of(command: Sequence[str]) -> str:
    """Return `USER@PROGRAM:DIGEST`; the digest is of the whole command, which may hold secrets."""
    digest = hashlib.sha256("\0".join(command).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_user()}@{PurePath(command[0]).name}:{digest[:12]}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return f"uid-{os.getuid()}"
