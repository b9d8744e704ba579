"""The server as a process of our own: started before anything slow, ended by its id."""

import contextlib
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from retry_guard_mcp_proxy._errors import ServerError

_POLL = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds that a server gets: to end by itself once its input has ended, and to obey."""

    ends: float = 5.0
    obeys: float = 2.0


AT_ONCE = Patience(ends=0.5, obeys=1.0)
"""For when the proxy itself was told to end."""


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the server; its standard error is ours. Raises `ServerError`."""
    try:
        return subprocess.Popen(  # noqa: S603 - the operator's own command
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ServerError(f"{command[0]}: cannot be started: {why}") from None


def end(process: subprocess.Popen[bytes], patience: Patience) -> str:
    """Wait for a process whose input has ended, then stop it, then kill it; return how it ended.

    Blocks until it is gone.
    """
    for seconds, stop in ((patience.ends, process.terminate), (patience.obeys, process.kill)):
        if _gone(process, seconds):
            break
        with contextlib.suppress(OSError):
            stop()
    code = process.wait()
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _gone(process: subprocess.Popen[bytes], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > until:
            return False
        time.sleep(_POLL)
    return True
