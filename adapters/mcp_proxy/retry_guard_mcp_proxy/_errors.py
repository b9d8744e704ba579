"""What can go wrong with the server behind the proxy.

GuardError
└── ServerError      the server cannot be used
    ├── DownError    it does not run, so nothing was sent to it
    ├── ClosedError  the connection closed before it answered: what was sent may have run
    └── RefusedError it was started anew, and did not open the session that the client had
"""

from retry_guard_core import GuardError


class ServerError(GuardError):
    """The server cannot be used. The message says why."""


class DownError(ServerError):
    """The server does not run, and no byte of the request was written."""


class ClosedError(ServerError):
    """The connection closed while a request was under way."""


class RefusedError(ServerError):
    """A server that was started anew did not open the session again."""
