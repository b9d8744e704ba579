"""A function in a process of its own for each episode.

Where processes can be forked they come from a server that has imported the module once, so that
each episode begins in a fresh copy of it; elsewhere each process imports it for itself. A module
that starts threads when it is imported is never forked: a copy has none of them.
"""

import multiprocessing
import os
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from retry_guard_sandbox.evaluation._running import Launch, Running, Visit, end_group
from retry_guard_sandbox.evaluation._target import TargetError, load, play
from retry_guard_sandbox.serving import join

TARGET = "RETRY_GUARD_EVAL_TARGET"
"""The variable that tells the server of processes what to import."""
UNKNOWN = 255
"""The exit code of a process that ended itself, without that the function returned."""
IMPORT = 60.0
"""Seconds in which the module has to be imported."""
_PRELOADED = "retry_guard_sandbox.evaluation._preloaded"


def function(target: str) -> Launch:
    """Return what starts the function `module:function` in a process of its own.

    It is imported once beforehand; raises `TargetError` where that fails, or takes longer than
    `IMPORT` seconds.
    """
    # Typed as anything: the base class of contexts does not tell that each has a Process.
    context: Any = multiprocessing.get_context("spawn")
    if "forkserver" in multiprocessing.get_all_start_methods():
        forking: Any = multiprocessing.get_context("forkserver")
        os.environ[TARGET] = target
        forking.set_forkserver_preload([_PRELOADED])
        context = forking if _looked_at(forking, target) else context
    else:
        _looked_at(context, target)

    def launch(visit: Visit) -> Running:
        process = context.Process(target=_episode, args=(target, visit))
        process.start()
        return _Function(process, visit)

    return launch


class _Function:
    """A function's process."""

    def __init__(self, process: BaseProcess, visit: Visit) -> None:
        self._process, self._visit = process, visit

    def wait(self, seconds: float) -> int | None:
        """Return 0 where the function returned, whatever the process says.

        It may have ended itself; and of a process that another thread asks after at the same
        moment, multiprocessing knows no exit code.
        """
        self._process.join(seconds)
        code = self._process.exitcode
        if code is None:
            return None
        return 0 if self._visit.returned.exists() else code or UNKNOWN

    def kill(self) -> None:
        if self._process.pid is not None:
            end_group(self._process.pid)
        self._process.kill()


def _episode(target: str, visit: Visit) -> None:
    """Carry out one episode, in a process that is there for nothing else."""
    if hasattr(os, "setsid"):
        os.setsid()
    _redirect(None if visit.shown else str(visit.log))
    try:
        with join(visit.address, visit.token) as host:
            play(load(target), visit.prompt, host)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told with the episode
        visit.raised.write_text(f"{type(error).__name__}\n{error}", encoding="utf-8")
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    visit.returned.touch()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that the scaffold left behind are no reason to wait


def _redirect(path: str | None) -> None:
    """Send all output to a file, or to standard error."""
    where = 2 if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(where, 1)
    os.dup2(where, 2)


def _looked_at(context: Any, target: str) -> bool:  # noqa: ANN401 - see above
    """Import the target in another process; return whether that started no thread."""
    ours, theirs = multiprocessing.Pipe()
    process = context.Process(target=_look, args=(target, theirs))
    try:
        process.start()
        theirs.close()
        if not ours.poll(2 * IMPORT):
            raise TargetError(f"{target} was not imported within {IMPORT:g} s")
        wrong, alone = ours.recv()
    except (EOFError, ConnectionError):
        raise TargetError(f"{target}: importing it ended the process") from None
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
    if wrong:
        raise TargetError(wrong)
    return bool(alone)


def _look(target: str, theirs: Connection) -> None:
    _redirect(os.devnull)
    before = sys.modules.get(_PRELOADED)
    try:
        load(target)
    except TargetError as error:
        theirs.send((str(error), False))
    else:
        was_alone = before is None or bool(vars(before)["ALONE"])
        theirs.send(("", was_alone and threading.active_count() == 1))
