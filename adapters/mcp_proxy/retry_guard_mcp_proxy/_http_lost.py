"""Whether a server that is reached over HTTP says that it does not know the session any more."""

import re
from http import HTTPStatus

import httpx2

from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._http_events import words
from retry_guard_mcp_proxy._messages import INTERNAL_ERROR, INVALID_PARAMS, NO_METHOD

_UNKNOWN = re.compile(
    r"(?:bad request: )?(?:"
    r"(?:no valid|(?:invalid|missing|unknown|expired)(?: or (?:invalid|missing|unknown|expired))?)"
    r" (?:mcp[- ])?session[- ]id(?: header)?(?: provided)?"
    r"|(?:mcp-)?session[- ]id(?: header)?(?: is)? (?:required|missing|invalid)"
    r"(?: in mcp-session-id header)?"
    r"|session(?: has been| was)? (?:not found|expired|terminated)"
    r")\W*",
    re.IGNORECASE,
)
"""The whole of what SDKs say with a status 400 of the session of MCP. In other words it may be a
session of a tool's own: then the refusal stands as it is."""


class LostError(DownError):
    """The server does not know the session any more, so it refused the request."""


_OF_THE_REQUEST = (NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR)
"""Codes of errors that are about the request itself, which may even have run."""


def is_lost(error: httpx2.HTTPStatusError, code: object = None) -> bool:
    """Whether the refusal of a request that named a session is for want of that session.

    `code`: of the error that answers this very request; None: the refusal answers none.
    """
    response = error.response
    if response.status_code == HTTPStatus.BAD_REQUEST:
        return names_session(words(response))
    if response.status_code != HTTPStatus.NOT_FOUND:
        return False
    return code not in _OF_THE_REQUEST or "session" in words(response).lower()


def names_session(said: str) -> bool:
    """Whether these words, with a status 400, say that there is no such session of MCP."""
    return _UNKNOWN.fullmatch(said) is not None
