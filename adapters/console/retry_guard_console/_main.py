"""`retry-guard`: one parser, one command of the registry, one exit code."""

import argparse
import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from retry_guard_console._shared import complain, let_go, one_line, shown
from retry_guard_core import GuardError

COMMANDS = ("ab", "bound", "eval", "sandbox", "mcp", "ledger", "contracts", "doctor")
"""Each has a module of its own: `add(subparsers)` sets `run`, which returns the exit code."""

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
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportUnknownMemberType] - of any buffer
    return _guarded(argv)


class _Parser(argparse.ArgumentParser):
    """A parser that refuses in one line, and says where help is for the words that are wrong."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - as argparse makes it
        """Name what is no number in words that are not Python's."""
        super().__init__(**given)
        self.register("type", float, partial(_number, float, "number"))
        self.register("type", int, partial(_number, int, "whole number"))

    def parse_known_args(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - one of its overloads, which is how it is called
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse here what nobody knows: argparse leaves it to the topmost parser."""
        found, unknown = super().parse_known_args(args, namespace or argparse.Namespace())
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is; exit with 2."""
        self.exit(USAGE, f"{self.prog}: {shown(message)}; see {self.prog} --help\n")


def _number(kind: Callable[[str], float], what: str, given: str) -> float:
    try:
        return kind(given)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{given!r} is no {what}") from None


def modules(names: Iterable[str]) -> list[ModuleType]:
    """Return the modules of these commands."""
    return [import_module(f"retry_guard_console._{name}") for name in names]


def _parser(asked: str) -> argparse.ArgumentParser:
    """Return the parser, with the command that is asked for alone: the others are slow to import.

    Where none of them is, all are there, so that help and errors name them.
    """
    parser = _Parser(
        prog="retry-guard",
        description="Guards the tool calls of LLM agents against being repeated blindly.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    if asked not in COMMANDS:
        from importlib.metadata import version

        parser.add_argument("--version", action="version", version=version("agent-retry-guard"))
    for command in modules([asked] if asked in COMMANDS else COMMANDS):
        command.add(commands)
    return parser


def _guarded(argv: Sequence[str] | None) -> int:
    """Run it so that whatever goes wrong outside of us is one line, and no traceback."""
    try:
        code = _run(argv)
        sys.stdout.flush()
    except GuardError as error:
        complain(f": {one_line(error)}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        let_go(sys.stdout)
        return NOBODY_READS
    except OSError as error:
        let_go(sys.stdout)
        complain(f": {error.strerror or error}: not all was written; make room there")
        return NOT_SAID
    return code


def _run(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    help_text = io.StringIO()  # argparse would not tell us that it could not be written
    try:
        with contextlib.redirect_stdout(help_text):
            parser = _parser(next(iter(words), ""))
            if not words:
                parser.error(f"say which COMMAND: {', '.join(COMMANDS)}")
            given = parser.parse_args(words)
    except SystemExit as stop:  # argparse has said why
        print(help_text.getvalue(), end="")
        return stop.code if isinstance(stop.code, int) else USAGE
    code: int = given.run(given)
    return code
