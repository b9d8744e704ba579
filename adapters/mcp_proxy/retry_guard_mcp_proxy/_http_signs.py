"""What tells that the server at a URL may be another one than it was: nobody sees it end."""

from collections.abc import Callable

import httpx2

from retry_guard_mcp_proxy._messages import Message, is_object, meta_of, object_in
from retry_guard_mcp_proxy._session import PROTOCOL

NAMED = PROTOCOL + "serverInfo"
"""Where a result says which server made it, and which version of it."""
LASTS, SHORTEST = 30.0, 1.0
"""Seconds for which a list of tools is relied on without any sign; a server may say that it lasts
shorter, and then not less than the second."""


class Signs:
    """Signs of a change. `lasts`: seconds for which a list of tools is relied on without one."""

    def __init__(self, anew: Callable[[], None]) -> None:
        """Nothing was heard yet. `anew`: called at each sign."""
        self.anew, self.lasts = anew, LASTS
        self._who: tuple[str, str] | None = None

    def failed(self, error: Exception) -> None:
        """A request got no answer of the server: who answers the next one may be another.

        A refusal below 500 is an answer; of those above, a proxy on the way may have made them.
        """
        if isinstance(error, httpx2.HTTPStatusError) and not error.response.is_server_error:
            return
        self.anew()

    def answered(self, message: object) -> None:
        """Note who answers. What names no server says nothing of that."""
        result = object_in(message, "result") if is_object(message) else {}
        named = object_in(meta_of(result), NAMED)
        name, version = named.get("name"), named.get("version")
        if isinstance(name, str) and isinstance(version, str):
            who, self._who = self._who, (name, version)
            if who is not None and who != self._who:
                self.anew()

    def listed(self, message: Message) -> None:
        """Note for how long a list of tools lasts, by its own word."""
        said = object_in(message, "result").get("ttlMs")
        if isinstance(said, int | float) and not isinstance(said, bool):
            self.lasts = min(max(said / 1000, SHORTEST), LASTS)
        else:
            self.lasts = LASTS
