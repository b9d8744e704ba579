"""For whom the tools act, where nobody says it: the user of the system, and this very server."""

import getpass
import hashlib
import os
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import urlsplit


def scope_of(command: Sequence[str]) -> str:
    """Return `USER@PROGRAM:DIGEST`; the digest is of the whole command, which may hold secrets."""
    return f"{_user()}@{server_of(command)}"


def scope_of_url(url: str) -> str:
    """Return `USER@HOST:DIGEST`; the digest is of the whole URL, which may hold secrets."""
    return f"{_user()}@{server_of_url(url)}"


def server_of(command: Sequence[str]) -> str:
    """Return `PROGRAM:DIGEST`: the name of a server that is a process."""
    return f"{PurePath(command[0]).name}:{_digest(chr(0).join(command))}"


def server_of_url(url: str) -> str:
    """Return `HOST:DIGEST`: the name of a server that is reached by URL."""
    return f"{urlsplit(url).hostname}:{_digest(url)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return f"uid-{os.getuid()}"
