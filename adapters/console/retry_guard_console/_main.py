"""`retry-guard`: one parser, one command of the registry, one exit code."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from retry_guard_console import _ab, _doctor, _ledger
from retry_guard_core import GuardError

COMMANDS = (_ab, _ledger, _doctor)
"""One module for each command: `add(subparsers)` sets `run`, which returns the exit code."""

USAGE, INTERRUPTED, NOBODY_READS = 2, 130, 141

_EPILOG = """\
examples:
  retry-guard ledger list
  retry-guard doctor

Each command has --help with an example of its own.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0: well. 2: bad input, or something that cannot be used, said in one line. 130: interrupted.
    What else a command returns is in its own help.
    """
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
    try:
        given = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else USAGE
    return _guarded(given.run, given)


def _guarded(run: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """Run it so that whatever goes wrong outside of us is one line, and no traceback."""
    try:
        code = run(given)
        sys.stdout.flush()
    except GuardError as error:
        print(f"retry-guard: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered would be written, and fail again, at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    return code
