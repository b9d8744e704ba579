"""The `retry-guard` command."""

import sys

TYPE_CHECKING = False  # typing is slow to import, and until `main` a Ctrl-C gives a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command; return its exit code.

    0: well. 1: what it had to say could not be written. 2: bad input, or something that cannot be
    used. Both are said in one line. 130: interrupted. 141: nobody reads. What else a command
    returns is in its own help.
    """
    try:
        if argv is None and sys.argv[1:2] == ["mcp"]:
            _end_at_once()
        # pytest imports this package for its plugin in every run, mostly for nothing.
        from retry_guard_console._main import main as run
    except KeyboardInterrupt:
        return 130
    return run(argv)


def _end_at_once() -> None:
    """Let Ctrl-C end the process without a word, until there is a server to end in order."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
