"""Imported once by the server that all processes of an evaluation are forked from."""

import os
from contextlib import suppress

from retry_guard_sandbox.evaluation._functions import TARGET
from retry_guard_sandbox.evaluation._target import TargetError, load

_nowhere = os.open(os.devnull, os.O_WRONLY)
os.dup2(_nowhere, 1)
os.dup2(_nowhere, 2)
if os.environ.get(TARGET):
    with suppress(TargetError):
        load(os.environ[TARGET])
