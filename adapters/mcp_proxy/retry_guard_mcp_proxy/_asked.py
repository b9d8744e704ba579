"""What the server asks the client, by ids that stay apart when the server was started anew."""

from typing import NamedTuple

from retry_guard_mcp_proxy._messages import Message, Name, encoded, name_of, params_of

CANCELLED = "notifications/cancelled"


class _Question(NamedTuple):
    life: int
    given: object


class Asked:
    """Open questions. `life`: how often the server was started before it asked.

    A server counts its ids from the start each time it lives, so those of a later life get another
    name on the client's side; an answer to a former life is for nobody.
    """

    def __init__(self) -> None:
        """Nothing was asked."""
        self._open: dict[Name, _Question] = {}

    def asks(self, line: bytes, message: Message, life: int) -> bytes:
        """Note a request of the server; return the line for the client."""
        given = message.get("id")
        if name_of(given) is None:
            return line
        shown = given if life == 0 else _shown(given, life)
        name = name_of(shown)
        if name is not None:
            self._open[name] = _Question(life, given)
        return line if life == 0 else encoded({**message, "id": shown})

    def withdraws(self, line: bytes, message: Message, life: int) -> bytes:
        """Return the line that tells the client that a request of the server is cancelled."""
        params = params_of(message)
        shown = params.get("requestId")
        if life:
            shown = _shown(shown, life)
            line = encoded({**message, "params": {**params, "requestId": shown}})
        name = name_of(shown)
        if name is not None:
            self._open.pop(name, None)
        return line

    def answers(self, line: bytes, message: Message, life: int) -> bytes | None:
        """Return the client's answer as the server knows it; None: it is for nobody any more."""
        name = name_of(message.get("id"))
        question = None if name is None else self._open.pop(name, None)
        if question is None:
            return line
        if question.life != life:
            return None
        return line if life == 0 else encoded({**message, "id": question.given})


def _shown(given: object, life: int) -> str:
    return f"retry-guard-life-{life}-{given!r}"
