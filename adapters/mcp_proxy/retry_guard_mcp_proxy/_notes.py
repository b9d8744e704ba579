"""Lines for the operator, on standard error: harnesses keep it as the log of the server."""

import sys
from contextlib import suppress


def note(text: str) -> None:
    """Write one line, if anybody can be told there."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed at start
        with suppress(OSError):
            sys.stderr.write(f"retry-guard mcp: {text}\n")
            sys.stderr.flush()
