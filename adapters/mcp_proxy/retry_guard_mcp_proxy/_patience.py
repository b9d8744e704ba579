"""How long a client waits for an answer: what was measured of it, or what the operator says."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from retry_guard_mcp_proxy._messages import Message, meta_of, name_of, params_of

MARGIN = 5.0
"""Seconds before its limit in which a client is answered."""
UNKNOWN = 50.0
"""Seconds in which a client is answered whose limit nobody knows: a minute is usual."""
BEAT = 30.0
"""Seconds between two signs of life."""
_MEASURED = {"codex-mcp-client": 300.0, "copilot-cli": 180.0, "claude-code": inf}
_EXTENDED_BY_PROGRESS = frozenset({"copilot-cli"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one request waits.

    `seconds`: after which it is answered with what is known then; inf: it waits for the end.
    `beats`: its client waits longer where it sees progress.
    """

    seconds: float
    beats: bool = False


def patience_of(client: Message, request: Message, stated: float | None) -> Patience:
    """Return how long a request of that client waits; `stated`: seconds that an operator set."""
    name = client.get("name")
    known = name if isinstance(name, str) else ""
    beats = known in _EXTENDED_BY_PROGRESS and token_of(request) is not None
    if stated is not None:
        return Patience(seconds=stated, beats=beats)
    if beats:
        return Patience(seconds=inf, beats=True)
    return Patience(seconds=_MEASURED.get(known, UNKNOWN + MARGIN) - MARGIN)


def token_of(request: Message) -> object:
    """Return what names the progress of a request; None: its client asks for none."""
    token = meta_of(params_of(request)).get("progressToken")
    return token if name_of(token) is not None else None


class Timers:
    """Looks after one request while it waits: `beat` again and again, `leave` at its end."""

    def __init__(
        self, patience: Patience, leave: Callable[[], object], beat: Callable[[], object]
    ) -> None:
        """Begin."""
        self._loop = asyncio.get_running_loop()
        self._beat = beat
        self._last = self._next = None
        if patience.seconds < inf:
            self._last = self._loop.call_later(patience.seconds, leave)
        if patience.beats:
            self._next = self._loop.call_later(BEAT, self._beats)

    def _beats(self) -> None:
        self._next = self._loop.call_later(BEAT, self._beats)
        self._beat()

    def end(self) -> None:
        """Do neither any more."""
        for timer in (self._last, self._next):
            if timer is not None:
                timer.cancel()
