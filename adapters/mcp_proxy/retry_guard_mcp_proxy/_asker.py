"""A request of the client that waits for the answer to a guarded call."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from retry_guard_mcp_proxy._messages import Message, Name, params_of
from retry_guard_mcp_proxy._patience import Timers, token_of

PROGRESS = "notifications/progress"
_STEP = 1e-6
"""How far a sign of life goes beyond the last progress: it has to grow."""


@dataclass(slots=True, eq=False)
class Asker:
    """A request. `over`: set once it has its answer, or nobody wants it."""

    request: Message
    name: Name
    cancelled: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _timers: Timers | None = None
    _shown: Message = field(default_factory=dict[str, Any])

    def timed(self, timers: Timers) -> None:
        """Let it be looked after until it is over."""
        self._timers = timers

    def end(self) -> None:
        """Note that it is over."""
        self.over.set()
        if self._timers is not None:
            self._timers.end()

    def progress(self, message: Message) -> Message | None:
        """Return the progress of its call as its client knows it; None: it asks for none."""
        token = token_of(self.request)
        if token is None or self.over.is_set():
            return None
        self._shown = params_of(message)
        return {**message, "params": {**self._shown, "progressToken": token}}

    def sign_of_life(self) -> Message | None:
        """Return progress that says no more than that the call goes on."""
        last = self._shown.get("progress")
        known = last if isinstance(last, int | float) and not isinstance(last, bool) else 0
        params = {**self._shown, "progress": known + _STEP}
        return self.progress({"jsonrpc": "2.0", "method": PROGRESS, "params": params})
