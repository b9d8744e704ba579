"""What the client has asked of its session that lasts, so that the next session has it too."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from retry_guard_mcp_proxy._messages import Message, Name, name_of, object_in, params_of
from retry_guard_mcp_proxy._notes import note

SUBSCRIBE, UNSUBSCRIBE, LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
LASTING = (SUBSCRIBE, UNSUBSCRIBE, LEVEL)
"""Methods whose effect lasts as long as the session."""
_GRANTING = 10.0
"""Seconds that a server has to grant it all again."""
_SHOWN = 200
"""Characters of a refusal that are shown."""


class Wishes:
    """Subscriptions to resources, and the log level. Each counts once the server has granted it."""

    def __init__(self) -> None:
        """Nothing was asked."""
        self._asked: dict[Name, Message] = {}
        self._granted: dict[tuple[str, object], Message] = {}

    def asks(self, request: Message) -> None:
        """Note one of the requests that last."""
        name = name_of(request.get("id"))
        if name is not None:
            self._asked[name] = request

    def answered(self, response: Message) -> None:
        """Note that the server has answered: whether it has granted what was asked."""
        name = name_of(response.get("id"))
        asked = self._asked.pop(name, None) if name is not None else None
        if asked is None or "result" not in response:
            return
        method, params = asked["method"], params_of(asked)
        uri = str(params.get("uri"))
        if method == UNSUBSCRIBE:
            self._granted.pop((SUBSCRIBE, uri), None)
        else:
            named = (method, uri if method == SUBSCRIBE else None)
            self._granted[named] = {n: params[n] for n in params if n != "_meta"}

    @property
    def granted(self) -> list[tuple[str, Message]]:
        """Methods and parameters, as they are to be asked again."""
        return [(method, params) for (method, _), params in self._granted.items()]


async def ask_again(
    granted: Sequence[tuple[str, Message]],
    ask: Callable[[str, Message], Awaitable[Message]],
) -> None:
    """Ask a server started anew for what the last one had granted.

    What it does not grant is the operator's to know. Raises what `ask` raises.
    """
    try:
        async with asyncio.timeout(_GRANTING):
            for method, params in granted:
                error = object_in(await ask(method, params), "error")
                if error:
                    why = str(error.get("message", ""))[:_SHOWN]
                    note(f"the server started anew does not grant {method} again: {why!r}")
    except TimeoutError:
        note("the server started anew does not say whether it grants again what the client had")
