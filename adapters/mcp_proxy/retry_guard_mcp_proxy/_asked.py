"""What the server asks the client, by ids that stay apart when the server was started anew."""

from typing import NamedTuple

from retry_guard_mcp_proxy._messages import Message, Name, is_request, name_of, params_of

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

    def shown(self, message: Message, life: int) -> Message:
        """Return a message of the server as the client shall know it; the same one, where it can.

        What it asks is noted, and what it takes back is forgotten.
        """
        if is_request(message):
            return self._asks(message, life)
        return self._withdraws(message, life) if message.get("method") == CANCELLED else message

    def _asks(self, message: Message, life: int) -> Message:
        given = message["id"]
        if name_of(given) is None:
            return message
        shown = given if life == 0 else _shown(given, life)
        name = name_of(shown)
        if name is not None:
            self._open[name] = _Question(life, given)
        return message if life == 0 else {**message, "id": shown}

    def _withdraws(self, message: Message, life: int) -> Message:
        params = params_of(message)
        shown = params.get("requestId")
        if life:
            shown = _shown(shown, life)
            message = {**message, "params": {**params, "requestId": shown}}
        name = name_of(shown)
        if name is not None:
            self._open.pop(name, None)
        return message

    def answers(self, message: Message, life: int) -> Message | None:
        """Return the client's answer as the server knows it; None: it is for nobody any more."""
        name = name_of(message.get("id"))
        question = None if name is None else self._open.pop(name, None)
        if question is None:
            return message
        if question.life != life:
            return None
        return message if life == 0 else {**message, "id": question.given}


def _shown(given: object, life: int) -> str:
    return f"retry-guard-life-{life}-{given!r}"
