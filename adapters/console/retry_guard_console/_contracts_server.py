"""Which server a command of `retry-guard contracts` is about."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retry_guard_console._mcp_url import add_options, checked_url, headers_of

if TYPE_CHECKING:
    from retry_guard_mcp_proxy import Settings

Options = Callable[[argparse.ArgumentParser], None]
"""Adds the options of a command."""


@dataclass(frozen=True, slots=True)
class Named:
    """The word before the server, and the server; None: there is none."""

    word: str
    server: "Settings | None"


def named(given: argparse.Namespace, options: Options, ledger: str | None, what: str) -> Named:
    """Return what was said. Options may also stand between the word and `--`.

    `what`: what the word is, for whoever leaves it out. Raises `ValueError` for what is said
    wrong. It shows no secret.
    """
    from retry_guard_mcp_proxy import Settings

    words: list[str] = given.words
    before = words[: words.index("--")] if "--" in words else words
    given.command = words[len(before) + 1 :]
    if not before or before[0].startswith("-"):
        raise ValueError(f"say {what} first: see --help")
    _also(given, options, before[1:])
    url, headers = checked_url(given), headers_of(given)
    if not given.command and url is None:
        return Named(before[0], None)
    ledger = getattr(given, "ledger", ledger)
    server = Settings(command=tuple(given.command), url=url, headers=headers, ledger=ledger)
    return Named(before[0], server)


def _also(given: argparse.Namespace, options: Options, words: list[str]) -> None:
    """Take the options that stand after the word."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    options(parser)
    add_options(parser)
    try:
        later, rest = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise ValueError(str(error)) from None
    if rest:
        raise ValueError(f"unrecognized arguments: {' '.join(rest)}; write -- before a command")
    vars(given).update({n: v for n, v in vars(later).items() if v not in (None, False, [])})
