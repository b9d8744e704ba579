"""The server as a process of our own: started before anything slow, ended by its id."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from retry_guard_mcp_proxy._errors import ServerError

_POLL = 0.01


@dataclass(slots=True, kw_only=True)
class Patience:
    """Seconds that a server gets: to end by itself once its input has ended, and to obey.

    Whoever waits with it looks at it again and again, so that it can be lost meanwhile.
    """

    ends: float = 5.0
    obeys: float = 2.0

    def lose(self) -> None:
        """Wait hardly any longer."""
        self.ends, self.obeys = 0.3, 1.0


def little() -> Patience:
    """Return what a server gets that has closed its output, or does not read."""
    return Patience(ends=0.3, obeys=1.0)


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the server; its standard error is ours. Raises `ServerError`."""
    try:
        return subprocess.Popen(  # noqa: S603 - the operator's own command
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{command[0]}: cannot be started: {why}; name a program that can be run"
        raise ServerError(msg) from None


def end(process: subprocess.Popen[bytes], patience: Patience) -> str:
    """Wait for a process whose input has ended, then stop it, then kill it; return how it ended.

    Blocks until it is gone.
    """
    began = time.monotonic()
    while process.poll() is None and time.monotonic() < began + patience.ends:
        time.sleep(_POLL)
    if process.poll() is None:
        process.terminate()
        began = time.monotonic()
    while process.poll() is None and time.monotonic() < began + patience.obeys:
        time.sleep(_POLL)
    if process.poll() is None:
        process.kill()
    code = process.wait()
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
