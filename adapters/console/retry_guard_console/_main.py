"""`retry-guard`: one parser, one command of the registry, one exit code."""

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, cast

from retry_guard_console import _ab, _doctor, _ledger
from retry_guard_console._shared import complain
from retry_guard_core import GuardError

COMMANDS = (_ab, _ledger, _doctor)
"""One module for each command: `add(subparsers)` sets `run`, which returns the exit code."""

NOT_SAID, USAGE, INTERRUPTED, NOBODY_READS = 1, 2, 130, 141

_EPILOG = """\
examples:
  retry-guard ledger list
  retry-guard doctor

Each command has --help with an example of its own.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0: well. 1: what it had to say could not be written. 2: bad input, or something that cannot be
    used. Both are said in one line. 130: interrupted. 141: nobody reads. What else a command
    returns is in its own help.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        complain(": standard output is closed, so nothing was done; open it, or use /dev/null")
        return NOT_SAID
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that has no letter for something is no reason to fail.
        cast("io.TextIOWrapper[Any]", sys.stdout).reconfigure(errors="backslashreplace")
    return _guarded(argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="retry-guard",
        description="Guards the tool calls of LLM agents against being repeated blindly.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("agent-retry-guard"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def _guarded(argv: Sequence[str] | None) -> int:
    """Run it so that whatever goes wrong outside of us is one line, and no traceback."""
    try:
        code = _run(argv)
        sys.stdout.flush()
    except GuardError as error:
        complain(f": {' '.join(str(error).split())}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _let_go()
        return NOBODY_READS
    except OSError as error:
        _let_go()
        complain(f": {error}: not all was written; make room, or send the output elsewhere")
        return NOT_SAID
    return code


def _run(argv: Sequence[str] | None) -> int:
    try:
        given = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else USAGE
    code: int = given.run(given)
    return code


def _let_go() -> None:
    """Let what is still buffered go nowhere: at exit it would be written, and fail again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
