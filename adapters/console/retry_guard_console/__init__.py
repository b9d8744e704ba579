"""The `retry-guard` command."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0: well. 1: what it had to say could not be written. 2: bad input, or something that cannot be
    used. Both are said in one line. 130: interrupted. 141: nobody reads. What else a command
    returns is in its own help.
    """
    # pytest imports this package for its plugin in every run, mostly for nothing.
    from retry_guard_console._main import main as run

    return run(argv)
