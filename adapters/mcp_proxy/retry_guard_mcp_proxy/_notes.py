"""Lines for the operator, on standard error: harnesses keep it as the log of the server.

Nobody may read there: a line waits in a queue of its own, and no call ever waits for a line.
"""

import atexit
import logging
import os
import queue
import sys
import threading
import time
import traceback
from contextlib import suppress

_KEPT = 1000
"""Lines that wait to be written; what comes on top is lost."""
_LAST = 1.0
"""Seconds in which what waits is still written at the end."""


class _Notes:
    """Lines in order, written by a thread of their own."""

    def __init__(self) -> None:
        self._lines: queue.Queue[bytes] = queue.Queue(_KEPT)
        self._begun = threading.Lock()
        self._writer: threading.Thread | None = None

    def add(self, line: str) -> None:
        with self._begun:
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, daemon=True)
                self._writer.start()
                atexit.register(self._end)
        with suppress(queue.Full):
            self._lines.put_nowait(line.encode("utf-8", "backslashreplace"))

    def _write(self) -> None:
        while True:
            rest = self._lines.get()
            with suppress(OSError, ValueError):
                while rest:  # not through sys.stderr, whose lock others would wait for
                    rest = rest[os.write(sys.stderr.fileno(), rest) :]
            self._lines.task_done()

    def _end(self) -> None:
        until = time.monotonic() + _LAST
        while self._lines.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)


_NOTES = _Notes()


def note(text: str) -> None:
    """Let it be written, if anybody can be told there. Never blocks.

    Nothing in it is obeyed by a terminal, and no line but its first begins like one of ours:
    there may be words of the server in it.
    """
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        said = "\n  ".join(map(_printable, text.split("\n")))
        _NOTES.add(f"retry-guard mcp: {said}\n")


def _printable(line: str) -> str:
    return line if line.isprintable() else ascii(line)[1:-1]


class Log(logging.Handler):
    """Notes what is logged: a handler that writes itself would wait for whoever reads."""

    def __init__(self) -> None:
        """Heed warnings and errors."""
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Note a record: on one line, but for where something failed that should not."""
        text, failed = record.getMessage(), record.exc_info
        error, is_fault = failed[1] if failed else None, record.levelno >= logging.ERROR
        if error is not None and not is_fault:
            text = f"{text}: {type(error).__name__}: {error}"
        text = _printable(text)
        if error is not None and is_fault:
            text += "\n" + "".join(traceback.format_exception(error)).rstrip()
        note(text)
