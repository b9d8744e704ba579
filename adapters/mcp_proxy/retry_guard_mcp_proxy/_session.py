"""What the client said of itself, and what a server that was started anew has to be told."""

from typing import Any

from retry_guard_mcp_proxy._messages import (
    Message,
    Name,
    is_object,
    meta_of,
    name_of,
    object_in,
    params_of,
)
from retry_guard_mcp_proxy._wishes import LASTING, Wishes

PROTOCOL = "io.modelcontextprotocol/"
"""How the names of `_meta` begin that say on each request what `initialize` said once."""
STATELESS = PROTOCOL + "protocolVersion"


def is_stateless(request: Message) -> bool:
    """Whether a request is of the generation without sessions (2026-07-28)."""
    return STATELESS in meta_of(params_of(request))


def abilities_in(request: Message, session: "Session") -> Message:
    """Return what the client of a request can do: it says so there, or said so in `initialize`."""
    if is_stateless(request):
        return object_in(meta_of(params_of(request)), PROTOCOL + "clientCapabilities")
    return session.abilities


class Session:
    """Both generations. `client`: the client's name and version; `abilities`: what it can do.

    `opening`: the parameters of the `initialize` that the server has answered; None: there is no
    session. `opened`: the line with which the client said that it is ready. `wishes`: what it has
    asked since, and lasts.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.client: Message = {}
        self.abilities: Message = {}
        self.opening: Message | None = None
        self.opened: bytes | None = None
        self.wishes = Wishes()
        self._asked: tuple[Name, Message] | None = None
        self._stated: Message = {}

    def hear(self, message: Message, line: bytes) -> None:
        """Note what a message of the client says."""
        params, meta = params_of(message), meta_of(params_of(message))
        match message.get("method"):
            case "initialize":
                name = name_of(message.get("id"))
                self._asked = None if name is None else (name, params)
                self.opening = self.opened = None
                self.wishes = Wishes()
                self._know(params.get("clientInfo"), params.get("capabilities"))
            case "notifications/initialized":
                self.opened = line
            case _ if STATELESS in meta:
                stated = {n: value for n, value in meta.items() if n.startswith(PROTOCOL)}
                self._stated = stated
                known = (stated.get(PROTOCOL + n) for n in ("clientInfo", "clientCapabilities"))
                self._know(*known)
            case method if method in LASTING:
                self.wishes.asks(message)
            case _:
                pass

    def _know(self, client: Any, abilities: Any) -> None:
        self.client = client if is_object(client) else {}
        self.abilities = abilities if is_object(abilities) else {}

    def answered(self, response: Message) -> None:
        """Note that the server has answered: with `initialize`, there is a session."""
        self.wishes.answered(response)
        if self._asked is not None and name_of(response.get("id")) == self._asked[0]:
            if "result" in response:
                self.opening, self._stated = self._asked[1], {}
            self._asked = None

    @property
    def stated(self) -> Message:
        """What `_meta` of a request of the proxy's own has to say; empty in a session."""
        return dict(self._stated)
