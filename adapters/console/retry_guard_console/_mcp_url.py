"""The options of `retry-guard mcp` for a server that is reached over HTTP."""

import argparse
import os
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_ITS_OWN = re.compile(
    r"mcp-.*|accept|connection|content-.*|host|last-event-id|transfer-encoding", re.IGNORECASE
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add `--url`, `--header` and `--header-env`."""
    parser.add_argument(
        "--url", help="where the server is, in place of CMD: its endpoint for streamable HTTP"
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="a header for each request to --url; others may see it in the list of processes",
    )
    parser.add_argument(
        "--header-env",
        action="append",
        default=[],
        metavar="NAME=VAR",
        help="a header whose value is that of an environment variable, for what is secret",
    )


def checked_url(given: argparse.Namespace) -> str | None:
    """Return the URL; None: the server is a command. Raises ValueError, which shows no secret."""
    if given.url is None:
        if given.header or given.header_env:
            raise ValueError("--header and --header-env are for a server at --url")
        return None
    if given.command:
        raise ValueError("say --url or -- CMD…, not both")
    url = str(given.url)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # of a port, or of brackets
        good = False
    if not good or not url.isprintable() or " " in url:
        raise ValueError("--url is no http:// or https:// URL")
    return url


def headers_of(given: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Return names and values. Raises ValueError, which shows no value."""
    headers = (*_said(given.header), *_kept(given.header_env))
    for name, value in headers:
        if not _NAME.fullmatch(name):
            raise ValueError("the name of a header has letters, digits and hyphens")
        if _ITS_OWN.fullmatch(name):
            raise ValueError(f"the header {name} is the proxy's own: leave it out")
        if not value or not (value.isascii() and value.isprintable()):
            raise ValueError(f"the value of the header {name} is empty, or no plain text")
    return headers


def _said(headers: list[str]) -> Iterator[tuple[str, str]]:
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon:
            raise ValueError("write --header 'NAME: VALUE'")
        yield name.strip(), value.strip()


def _kept(headers: list[str]) -> Iterator[tuple[str, str]]:
    for header in headers:
        name, equals, variable = header.partition("=")
        if not equals or not variable:
            raise ValueError("write --header-env NAME=VAR")
        if variable not in os.environ:
            raise ValueError(f"--header-env {name}: there is no environment variable {variable}")
        yield name.strip(), os.environ[variable].strip()
