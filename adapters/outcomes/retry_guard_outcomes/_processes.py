"""What the end of a process proves."""

import re
import shlex
from collections.abc import Sequence
from typing import Any, cast

from retry_guard_outcomes._ends import Done, NotExecuted, Unknown

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
SEVERAL = re.compile(r"[;&|<>()`$\n\r{}]")
"""Signs that a command line may hold more than one command, or have its own effects."""

NOT_STARTED = re.compile(
    r"^(?P<shell>\S*): (line )?(\d+: )?(?P<word>.+?): "
    r"((command )?not found|permission denied|no such file or directory|is a directory)$",
    re.IGNORECASE,
)
"""How shells say that a command could not be started."""


def of_process(process: object, origin: object = None) -> Done | NotExecuted | Unknown:
    """Return what an exit code proves. `origin`: the exception that carried it."""
    code: Any = getattr(process, "returncode", None)
    if code == 0 and origin is None:
        return Done(process)
    error = origin or process
    if code in (126, 127) and _never_started(process):
        return NotExecuted(error)
    return Unknown(error)


def _never_started(process: object) -> bool:
    """Whether a shell, given one simple command, says that it could not start that very one.

    The code alone proves nothing: a script whose last command is missing ends with it too.
    """
    line = _command_line(getattr(process, "cmd", None) or getattr(process, "args", None))
    said: Any = getattr(process, "stderr", None)
    if line is None or SEVERAL.search(line) or not said:
        return False
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    found = NOT_STARTED.fullmatch(text.strip())
    words = _words(line)
    return bool(found and words and found["word"] == words[0] and "=" not in words[0])


def _command_line(command: object) -> str | None:
    """Return what was given to a shell; None: no shell, so the program itself gave the code."""
    if isinstance(command, str):
        return command
    if isinstance(command, Sequence):
        words = [str(word) for word in cast("Sequence[object]", command)]
        if len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1] == "-c":
            return words[2]
    return None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []
