"""`forks.py MODULE`: imports a module once, and runs its `main` in a new process for each request.

Requests come from the socket that is its standard input, as `Forked` makes them: a line
`{"words": […], "folder": …, "environment": {…}}` with four descriptors. Three of them become the
standard ones of the new process. On the fourth its parent says which number it has and, once it
has ended, how; it keeps the number until that one is closed.
"""

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
from typing import Any


def asked(requests: socket.socket) -> tuple[Any, list[int]]:
    """Return a request, in the process that is forked for it; this one goes on until the end."""
    while True:
        line, given, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        while line and not line.endswith(b"\n"):
            line += requests.recv(1 << 20)
        reap(os.WNOHANG if line else 0)
        if not line:
            sys.exit()
        if not os.fork():
            requests.close()
            return json.loads(line), given
        for each in given:
            os.close(each)


def reap(options: int) -> None:
    """Take note of children that have ended, so that what they used up is counted."""
    with contextlib.suppress(ChildProcessError):  # there are none
        while os.waitpid(-1, options)[0]:
            pass


def watch(child: int, told: socket.socket) -> None:
    """Say which number the child has and how it ends, as `Popen.returncode`."""
    told.sendall(b"%d\n" % child)
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    exits = ended.si_code == os.CLD_EXITED
    told.sendall(b"%d\n" % (ended.si_status if exits else -ended.si_status))
    told.recv(1)
    os.waitpid(child, 0)
    os._exit(0)


def become(request: Any, standard: list[int], told: int) -> list[str]:  # noqa: ANN401 - of JSON
    """Take on what a process has from whoever starts it; return its words."""
    for number, each in enumerate(standard):
        os.dup2(each, number)
    os.closerange(3, max(told, *standard) + 1)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    words: list[str] = request["words"]
    return words


def main(module: str) -> int | None:
    program = importlib.import_module(module)
    gc.freeze()
    request, (*standard, told) = asked(socket.socket(fileno=0))
    child = os.fork()
    if child:
        for each in standard:
            os.close(each)
        watch(child, socket.socket(fileno=told))
    code: int | None = program.main(become(request, standard, told))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
