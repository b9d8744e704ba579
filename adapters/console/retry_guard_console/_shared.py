"""What the commands share: the ledger option, tables, and text that is safe to show."""

import argparse
import contextlib
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO, TypeAlias

if TYPE_CHECKING:
    from rich.table import Table

    # argparse has no public name for what add_subparsers() returns.
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

WELL, TO_MEND, USAGE = 0, 1, 2

_WIDEST = 100_000


def add_ledger_option(parser: argparse.ArgumentParser) -> None:
    """Add `--ledger`."""
    parser.add_argument(
        "--ledger",
        metavar="URL",
        help="sqlite:///PATH (sqlite:////PATH from the root); default: RETRY_GUARD_LEDGER, else "
        "the user's own file",
    )


def refuse(command: str, message: str) -> int:
    """Say what is wrong with the input, in one line; return the exit code."""
    complain(f" {command}: {message}")
    return USAGE


def one_line(error: BaseException) -> str:
    """Return what an error says in one line; what it says in several, one after the other."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    return "; ".join(line for line in lines if line)


def why(error: OSError | ValueError) -> str:
    """Return why the system or the codec refuses a file, in words that are not Python's."""
    if isinstance(error, UnicodeDecodeError):
        return "it is no UTF-8 text"
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error)


def text(given: str) -> str:
    """Return what was given, for an option that names something; as argparse calls it."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{given!a} is no UTF-8 text") from None
    return given


def complain(message: str) -> None:
    """Say one line on standard error, if anybody can be told there."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        try:
            print(f"retry-guard{message}", file=sys.stderr, flush=True)
        except OSError:
            let_go(sys.stderr)


def let_go(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: at exit it would be written, and fail again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def shown(text: object) -> str:
    """Return text without anything that a terminal would obey."""
    said = str(text)
    return said if said.isprintable() else ascii(said)[1:-1]


def moment(seconds: float) -> str:
    """Return a time as a person reads it, in UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"


def table(*columns: str) -> "Table":
    """Return an empty table whose cells are never cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for column in columns:
        made.add_column(column, no_wrap=True)
    return made


def show(made: "Table") -> None:
    """Print a table as wide as it has to be. Raises `BrokenPipeError` where nobody reads."""
    from rich.console import Console

    class Drawing(Console):
        def on_broken_pipe(self) -> None:
            """Leave the exit code to `main`, where rich would end the process by itself."""
            raise BrokenPipeError

    def drawing(width: int) -> Console:
        return Drawing(highlight=False, markup=False, emoji=False, width=width)

    needed = drawing(_WIDEST).measure(made).maximum
    drawing(max(needed, 1)).print(made, soft_wrap=True)
