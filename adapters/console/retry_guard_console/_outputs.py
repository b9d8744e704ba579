"""The files that `ab` and `eval` write: rows as they come, and reports that follow from them."""

import argparse
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from retry_guard_console._shared import why
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_sandbox import Bound, Report, Row

_OPTIONS = {
    "json": "write one line of JSON for each logical write",
    "junit": "write a JUnit file: one test case for each cell with the guard",
    "html": "write a page with charts: one file that needs no network",
}


class OutputError(GuardError):
    """A file cannot be written or read. The message names the option, the file, and why."""


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, `--junit` and `--html`."""
    for name, what in _OPTIONS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)


class Outputs:
    """The files that were asked for, open for writing."""

    def __init__(self, files: dict[str, tuple[Path, TextIO]]) -> None:
        """`files`: by the name of their option."""
        self._files = files

    def kept(self, rows: Iterable["Row"]) -> Iterator["Row"]:
        """Hand the rows on, and write each to the file of `--json`, if there is one."""
        if "json" not in self._files:
            yield from rows
            return
        for row in rows:
            self._write("json", row.to_json() + "\n")
            yield row
        self._write("json", "", is_last=True)

    def finish(self, result: "Report", note: str = "", bounds: Sequence["Bound"] = ()) -> None:
        """Write the reports; `note` says what is special about them, `bounds` go on the page."""
        from retry_guard_sandbox import junit, page

        if "junit" in self._files:
            self._write("junit", junit(result, note), is_last=True)
        if "html" in self._files:
            self._write("html", page(result, note, bounds), is_last=True)

    def _write(self, option: str, text: str, *, is_last: bool = False) -> None:
        path, file = self._files[option]
        with told(option, path):
            file.write(text)
            if is_last:
                file.flush()


@contextmanager
def opened(given: argparse.Namespace) -> Generator[Outputs]:
    """Open the files that were asked for, so that a long run does not end in a refusal.

    Raises `OutputError`.
    """
    paths: dict[str, Path] = {n: getattr(given, n) for n in _OPTIONS if getattr(given, n)}
    files: dict[str, tuple[Path, TextIO]] = {}
    _refuse_one_file_for_two(given, paths)
    with ExitStack() as stack:
        for name, path in paths.items():
            with told(name, path):
                file = path.open("w", encoding="utf-8", newline="\n")
                stack.callback(_close, name, path, file)
                files[name] = (path, file)
        yield Outputs(files)


def _refuse_one_file_for_two(given: argparse.Namespace, paths: dict[str, Path]) -> None:
    """Refuse a file that would be overwritten by another, or while it is read."""
    named = [*paths.items()]
    named += [(n, Path(p)) for n, p in (("from", getattr(given, "source", None)),) if p]
    for place, (name, path) in enumerate(named):
        for other, one in named[:place]:
            if path.resolve() == one.resolve() and not path.is_char_device():
                raise OutputError(f"--{name} and --{other} name one file, {path}; name another")


def _close(option: str, path: Path, file: TextIO) -> None:
    with told(option, path):
        file.close()


@contextmanager
def told(option: str, path: Path) -> Generator[None]:
    """Make what the system or the codec refuses one line that says which file it is."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise OutputError(f"--{option} {path}: {why(error)}; name another file") from error
