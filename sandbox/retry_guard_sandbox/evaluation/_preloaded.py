"""Imported once by the server that all processes of an evaluation are forked from."""

import os
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from retry_guard_sandbox.evaluation._functions import IMPORT, TARGET
from retry_guard_sandbox.evaluation._target import TargetError, load


def _too_long(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError(f"not imported within {IMPORT:g} s")


_nowhere = os.open(os.devnull, os.O_WRONLY)
os.dup2(_nowhere, 1)
os.dup2(_nowhere, 2)
if os.environ.get(TARGET):
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, IMPORT)
    with suppress(TargetError):  # whoever asks for it finds out again
        load(os.environ[TARGET])
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)

ALONE = threading.active_count() == 1
"""Whether nothing that was imported started a thread, of which a copy would have none."""
