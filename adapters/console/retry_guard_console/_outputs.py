"""The files that `ab` and `eval` write: rows as they come, and reports that follow from them."""

import argparse
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from retry_guard_console._over import refuse_other
from retry_guard_console._shared import USAGE, refuse, why
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_sandbox import Bound, Report, Row

_OPTIONS = {
    "json": "write one line of JSON for each logical write",
    "junit": "write a JUnit file: one test case for each cell with the guard",
    "html": "write a page with charts: one file that needs no network",
}


_BEGINS = {"json": "{", "junit": "<testsuites", "html": "<!doctype html>"}
"""How what they write begins; nothing else is written over."""


class OutputError(GuardError):
    """A file cannot be written or read. The message names the option, the file, and why."""


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, `--junit` and `--html`."""
    for name, what in _OPTIONS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)


class Outputs:
    """The files that were asked for, open for writing. `failed`: which cannot be written, and why.

    Such a file is left alone from then on: what came of a long run is still to be said.
    """

    def __init__(self, files: dict[str, tuple[Path, TextIO]]) -> None:
        """`files`: by the name of their option."""
        self._files, self.failed = files, dict[str, str]()

    def kept(self, rows: Iterable["Row"]) -> Iterator["Row"]:
        """Hand the rows on, and write each to the file of `--json`, if there is one."""
        for row in rows:
            if "json" in self._files:
                self.write("json", row.to_json() + "\n")
            yield row

    def finish(self, result: "Report", note: str = "", bounds: Sequence["Bound"] = ()) -> None:
        """Write the reports; `note` says what is special about them, `bounds` go on the page."""
        from retry_guard_sandbox import junit, page

        if "junit" in self._files:
            self.write("junit", junit(result, note))
        if "html" in self._files:
            self.write("html", page(result, note, bounds))
        self.flush()

    def write(self, option: str, text: str) -> None:
        """Write to the file of an option, if there is one that can be written."""
        path, file = self._files.get(option, (None, None))
        if path is not None and file is not None and option not in self.failed:
            try:
                with told(option, path):
                    file.write(text)
            except OutputError as error:
                self.failed[option] = str(error)

    def flush(self) -> None:
        """Let all that was written be in the files."""
        for option, (path, file) in self._files.items():
            try:
                with told(option, path):
                    file.flush()
            except OutputError as error:
                self.failed.setdefault(option, str(error))

    def told(self, command: str, code: int) -> int:
        """Say which files could not be written; return the exit code. `code`: where all could."""
        for text in self.failed.values():
            refuse(command, text)
        return USAGE if self.failed else code

    def close(self) -> None:
        """Close the files."""
        for _, file in self._files.values():
            with suppress(OSError, ValueError):  # it is known, and said, what is not in it
                file.close()


@contextmanager
def opened(given: argparse.Namespace) -> Generator[Outputs]:
    """Open the files that were asked for, so that a long run does not end in a refusal.

    Raises `OutputError`.
    """
    paths: dict[str, Path] = {n: getattr(given, n) for n in _OPTIONS if getattr(given, n, None)}
    files: dict[str, tuple[Path, TextIO]] = {}
    _refuse_one_file_for_two(given, paths)
    with closing(Outputs(files)) as outputs:
        for name, path in paths.items():
            with told(name, path):
                refuse_other(path, _BEGINS[name])
                files[name] = (path, path.open("w", encoding="utf-8", newline="\n"))
        yield outputs


def _refuse_one_file_for_two(given: argparse.Namespace, paths: dict[str, Path]) -> None:
    """Refuse a file that would be overwritten by another, or while it is read."""
    named = [*paths.items()]
    read = {"from": "source", "bound": "bound", "replay": "replay"}
    named += [(n, Path(p)) for n, to in read.items() if (p := getattr(given, to, None))]
    for place, (name, path) in enumerate(named):
        for other, one in named[:place]:
            if other in paths and _is_one(path, one):
                raise OutputError(f"--{name} and --{other} name one file, {path}; name another")


def _is_one(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file that holds what is written to it."""
    if path.is_char_device():
        return False
    with suppress(OSError):  # one is not there yet: then their names tell
        if path.samefile(other):
            return True
    return path.resolve() == other.resolve()


@contextmanager
def told(option: str, path: Path) -> Generator[None]:
    """Make what the system or the codec refuses one line that says which file it is."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise OutputError(f"--{option} {path}: {why(error)}; name another file") from error
