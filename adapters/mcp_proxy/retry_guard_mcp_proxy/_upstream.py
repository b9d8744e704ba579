"""What the proxy needs of the server behind it, however that is reached."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._messages import Message


def _unheard() -> None:
    """Nobody has to know."""


NOBODY: Callable[[], None] = _unheard


@dataclass(frozen=True, slots=True)
class Renewed:
    """Whether a request may go, for one who can wait right before the first byte.

    `goes`: raises where it may not. `renew`: to be awaited before: where it is only late, it may
    go after that; raises where it may not any more.
    """

    goes: Callable[[], None]
    renew: Callable[[], Awaitable[None]]

    def __call__(self) -> None:
        """Raise where it may not go."""
        self.goes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """Who hears the server.

    `said`: each message that answers no request of the proxy's own, with its line. `asked`: a
    request of the client is about to be passed on, or that it is not wanted any more. `refused`:
    what the client said was not passed on, and why. `ended`: the server has ended, and how, so
    what was asked until now is not answered any more. `again`: the lines that a server started
    anew has to be told, once its session is open. `anew`: its session was opened anew, without an
    end that was seen, so it may be another server.
    """

    said: Callable[[bytes, Message | list[Message]], Awaitable[None]]
    asked: Callable[[bytes, Message], None]
    refused: Callable[[Message | list[Message], Exception], Awaitable[None]]
    ended: Callable[[str], Awaitable[None]]
    again: Callable[[], Sequence[bytes]]
    anew: Callable[[], None] = NOBODY


NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Upstream(Protocol):
    """The server."""

    @property
    def lasts(self) -> float:
        """Seconds for which what it lists is relied on, where nobody sees it become another one.

        Infinite where that is seen.
        """
        ...

    async def pass_on(self, line: bytes, message: Message | list[Message]) -> None:
        """Pass on what the client said, after what it said before; return soon.

        Whether the server takes it, and that it does not, is told to `Ears`.
        """
        ...

    async def request(
        self,
        given: str,
        method: str,
        params: Message,
        headers: Mapping[str, str] = NO_HEADERS,
        goes: Callable[[], None] = NOBODY,
    ) -> Message:
        """Make a request of the proxy's own, with an id of `new_id`; return the response.

        The response may be an error. Raises `DownError` if nothing was sent, `ClosedError` if no
        answer will come, and what an HTTP client raises. `headers`: what goes beside the message,
        where there is room for it. `goes`: called right before the first byte may be written;
        what it raises comes through, and nothing is sent. Where that is `Renewed`, and it can be
        waited for, it is renewed before.
        """
        ...

    def new_id(self) -> str:
        """Return an id that nobody else has."""
        ...

    def is_own(self, token: object) -> bool:
        """Whether it is such an id."""
        ...

    async def close(self, patience: Patience) -> None:
        """End it, in order."""
        ...
