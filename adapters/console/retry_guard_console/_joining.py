"""A session of another process on standard input and output: bytes are handed to and fro.

It imports nothing of the sandbox: an evaluation starts it once for each episode.
"""

import os
import socket
import sys
from contextlib import suppress
from threading import Thread

from retry_guard_core import GuardError

TOKEN = "RETRY_GUARD_SANDBOX_TOKEN"  # noqa: S105 - the name of a variable
"""The variable that holds what is said first to whoever serves."""

_SIZE = 65_536


def join(address: str) -> int:
    """Hand all on until either side ends; raises `GuardError` where nobody serves there."""
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host, int(port)))
    except OSError as error:
        why = error.strerror or error
        raise GuardError(f"sandbox: no episode is served at {address}: {why}") from error
    except (ValueError, OverflowError) as error:
        msg = f"sandbox: no episode is served at {address}: it is no HOST:PORT"
        raise GuardError(msg) from error
    with connection:
        connection.sendall(os.environ.get(TOKEN, "").encode() + b"\n")
        Thread(target=_hand_in, args=(connection,), daemon=True).start()
        with suppress(ConnectionError):
            while piece := connection.recv(_SIZE):
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
    return 0


def _hand_in(connection: socket.socket) -> None:
    with suppress(OSError):
        while piece := os.read(sys.stdin.fileno(), _SIZE):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
