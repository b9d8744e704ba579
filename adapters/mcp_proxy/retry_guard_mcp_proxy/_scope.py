"""For whom the tools act, where nobody says it: the user of the system, and this very server.

A server that is a process is told apart by where it runs too: the same words may start another
program in another folder, or one that keeps what it does there.
"""

import getpass
import hashlib
import os
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import urlsplit


def scope_of(command: Sequence[str]) -> str:
    """Return `USER@PROGRAM:DIGEST` for a server that is started here.

    The digest is of the whole command, which may hold secrets, and of the folder.
    """
    return f"{_user()}@{_program(command)}:{_digest(chr(0).join((_folder(), *command)))}"


def scope_of_url(url: str) -> str:
    """Return `USER@HOST:DIGEST`; the digest is of the whole URL, which may hold secrets."""
    return f"{_user()}@{server_of_url(url)}"


def server_of(command: Sequence[str]) -> str:
    """Return `PROGRAM:DIGEST`: the name of a server that is a process, wherever it is started."""
    return f"{_program(command)}:{_digest(chr(0).join(command))}"


def server_of_url(url: str) -> str:
    """Return `HOST:DIGEST`: the name of a server that is reached by URL."""
    return f"{urlsplit(url).hostname}:{_digest(url)}"


def _program(command: Sequence[str]) -> str:
    return PurePath(command[0]).name


def _folder() -> str:
    """The folder in which this process works, and so its server, by its real path."""
    try:
        return os.path.realpath(os.getcwd())  # noqa: PTH109 - pathlib looks nowhere else
    except OSError:  # it was removed
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return f"uid-{os.getuid()}"
